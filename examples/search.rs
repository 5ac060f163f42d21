//! A thousand sentences that everybody may read, and one question that nobody sees: whoever has
//! the sentences ranks them by the encrypted question, and learns nothing of it.
//! `cargo run --release --example search`

use he::{backend::Cpu, ckks::Evaluator, rand, ring::Ring, rlwe::*};
use he_search::{Client, Metric, Plan, PublicSegment, Search};

const DIMENSION: usize = 64;

/// A sum of one direction per word, which is 64 signs of a hash: sentences with words in common
/// have cosines near the share of these. Any model of embeddings takes this place.
fn embedding(sentence: &str) -> Vec<f64> {
    let mut sum = vec![0.0; DIMENSION];
    for word in sentence.to_lowercase().split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 3) {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        // SplitMix64 spreads what FNV leaves in the low bits.
        let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        for (i, x) in sum.iter_mut().enumerate() {
            *x += if (mixed ^ (mixed >> 31)) >> i & 1 == 1 { 1.0 } else { -1.0 };
        }
    }
    sum
}

fn sentences() -> Vec<String> {
    let who = ["gardener", "engineer", "neighbour", "painter", "surgeon"];
    let who = who.iter().flat_map(|who| [format!("Yesterday the {who}"), format!("Every morning a {who}")]);
    let did = ["repaired", "borrowed", "photographed", "dropped", "measured"];
    let did: Vec<String> =
        did.iter().flat_map(|did| [format!("quietly {did}"), format!("{did} twice")]).collect();
    let what = ["bicycle", "telescope", "violin", "kettle", "microscope"];
    let what: Vec<String> =
        what.iter().flat_map(|what| [format!("a broken {what}"), format!("somebody's {what}")]).collect();
    let mut all = Vec::new();
    for who in who {
        for did in &did {
            all.extend(what.iter().map(|what| format!("{who} {did} {what}.")));
        }
    }
    all
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sentences = sentences();
    let question = "Who borrowed the broken telescope? Was it the surgeon, yesterday?";

    // Whoever asks: the key stays here, and only evaluation keys and the question leave.
    let plan = Plan::ranking(DIMENSION, Metric::Cosine).records(sentences.len() as u64);
    let params = plan.params()?;
    println!("{}", params.facts());
    let ring = Ring::new(Cpu::new(), params.ckks().rlwe().ring().clone())?;
    let mut rng = rand::rng();
    let secret = SecretKey::generate(params.ckks().rlwe(), &mut rng);
    let keys = EvaluationKeys::generate(&secret, &ring, params.requirements(), &mut rng)?;
    let client = Client::new(&params, &secret, &ring)?;
    let query = client.query(&embedding(question), &mut rng)?;

    // Whoever has the sentences.
    let ev = Evaluator::new(params.ckks(), &ring)?;
    let vectors: Vec<Vec<f64>> = sentences.iter().map(|sentence| embedding(sentence)).collect();
    let catalogue = PublicSegment::encode(&params, ev.encoder(), &vectors)?;
    let answer = Search::new(&params, &ev, &query.expand()?, &keys)?.scores([&catalogue])?;

    // Whoever asked.
    let ranking = client.ranking(&answer, 5)?;
    println!("{question}");
    for found in &ranking.nearest {
        println!("{:.3} {}", found.value, sentences[found.position.slot]);
    }
    let cosine = |x: &[f64], y: &[f64]| {
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        dot(x, y) / (dot(x, x) * dot(y, y)).sqrt()
    };
    let mut plain: Vec<f64> = vectors.iter().map(|x| cosine(x, &embedding(question))).collect();
    for found in &ranking.nearest {
        assert!((found.value - plain[found.position.slot]).abs() <= ranking.error);
    }
    plain.sort_by(|a, b| b.total_cmp(a));
    for (found, expected) in ranking.nearest.iter().zip(plain) {
        assert!((found.value - expected).abs() <= 2.0 * ranking.error);
    }
    assert!(sentences[ranking.nearest[0].position.slot].contains("surgeon"));
    Ok(())
}
