//! `info`: what a file is.

use crate::aes_file::{self, Sealed};
use crate::args::Info;
use crate::cipher_file::CipherReader;
use crate::core_error::InFile;
use crate::error::{IoContext, Result, one_line};
use crate::input::Input;
use crate::keys::{AesKey, AnyKey, Key, KeyFile, Start, check_start, read_start};
use crate::passphrase;
use crate::payload::{self, Note};
use crate::units;
use he_core::aes::container::{Content, Lock};
use he_core::ckks::CkksParams;
use he_core::wire::{self, FrameKind, FrameReader};
use serde_json::{Value, json};
use std::io::{self, BufReader, Write};

/// Parameters for programs.
pub fn params_json(params: &CkksParams) -> Value {
    let (rlwe, ring) = (params.rlwe(), params.rlwe().ring());
    json!({
        "scheme": "ckks",
        "fingerprint": params.fingerprint().to_string(),
        "degree": ring.n(),
        "slots": params.slots(),
        "depth": params.max_level(),
        "scale_log2": params.scale_log2(),
        "range": params.range(),
        "fresh_precision_bits": params.fresh_precision_bits(),
        "log_qp": ring.log_qp(),
        "security_bits": rlwe.security().bits(),
        "q": ring.q(),
        "p": ring.p(),
        "digits": rlwe.digits().len(),
    })
}

/// Parameters for people.
pub fn print_params(out: &mut impl Write, params: &CkksParams) -> io::Result<()> {
    let (rlwe, ring) = (params.rlwe(), params.rlwe().ring());
    let bits = |primes: &[u64]| {
        let widths: Vec<String> = primes.iter().map(|&q| format!("{:.1}", (q as f64).log2())).collect();
        widths.join(" ")
    };
    writeln!(out, "parameters   ckks {}", params.fingerprint())?;
    writeln!(out, "security     {}", rlwe.security())?;
    writeln!(out, "degree       {} ({} slots)", ring.n(), params.slots())?;
    writeln!(out, "depth        {}", params.max_level())?;
    writeln!(out, "scale        2^{}", params.scale_log2())?;
    writeln!(
        out,
        "precision    {:.1} bits when fresh, values below {:.1}",
        params.fresh_precision_bits(),
        params.range()
    )?;
    writeln!(out, "modulus      {:.1} bits: {} | special {}", ring.log_qp(), bits(ring.q()), bits(ring.p()))?;
    writeln!(out, "key digits   {}", rlwe.digits().len())
}

/// What a file is: each fact with its name, for programs and for people.
struct Description {
    /// None of AES; unknown for a sealed key that stays sealed.
    params: Option<CkksParams>,
    facts: Vec<(&'static str, Value, String)>,
}

pub(super) fn run(args: &Info) -> Result<()> {
    let mut input = Input::open(&args.input)?;
    let (name, size) = (input.name().to_owned(), input.len());
    let description = if aes_file::is_container(input.peek(aes_file::SNIFF_LEN)?) {
        describe_file(&Sealed::read(input)?, size)?
    } else if !passphrase::is_sealed(input.peek(8)?) {
        check_start(
            &mut input,
            "a key or an encrypted file",
            "give a key from keygen, or what encrypt or eval wrote",
        )?;
        let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
        match read_start(&mut reader, &name)? {
            Start::Ckks(params, Note::Key(note)) => {
                describe_key(&KeyFile::read_rest(reader, params, note, &name)?, size)
            }
            Start::Aes(key) => describe_aes_key(&AesKey { name, key, sealed: false }, size),
            Start::Ckks(params, Note::Payload(payload)) => {
                describe_ciphertexts(CipherReader::read_rest(reader, params, payload, &name), size)?
            }
        }
    } else if args.passphrase_file.is_given() {
        match AnyKey::read_sealed(input, &args.passphrase_file)? {
            AnyKey::Ckks(file) => describe_key(&file, size),
            AnyKey::Aes(key) => describe_aes_key(&key, size),
        }
    } else {
        let mut facts = vec![("file", json!("sealed secret key"), "sealed secret key".to_owned())];
        facts.extend(size.map(size_fact));
        let text = "by a passphrase; give --passphrase-file to see more".to_owned();
        facts.push(("sealed", json!(true), text));
        Description { params: None, facts }
    };
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let mut object = serde_json::Map::new();
        for (name, value, _) in description.facts {
            object.insert(name.replace(' ', "_"), value);
        }
        if let Some(params) = &description.params {
            object.insert("parameters".to_owned(), params_json(params));
        }
        writeln!(out, "{:#}", Value::Object(object))
    } else {
        // A file may say anything; the terminal shall not obey.
        let line = |(name, _, text): &(_, _, String)| writeln!(out, "{name:<12} {}", one_line(text));
        let facts = description.facts.iter().try_for_each(line);
        facts.and_then(|()| description.params.iter().try_for_each(|params| print_params(&mut out, params)))
    };
    printed.writing("standard output")
}

fn size_fact(size: u64) -> (&'static str, Value, String) {
    ("bytes", json!(size), units::bytes(size))
}

fn describe_key(file: &KeyFile, size: Option<u64>) -> Description {
    let (_, kind) = file.key.name().split_once(' ').unwrap_or_default();
    let mut facts = vec![
        ("file", json!(kind), kind.to_owned()),
        ("key set", json!(file.id.short()), file.id.short().to_owned()),
    ];
    facts.extend(size.map(size_fact));
    match &file.key {
        Key::Secret(_) => facts.push(sealed_fact(file.sealed)),
        Key::Public(_) => {}
        Key::Evaluation(frames) => {
            let rotations = frames.iter().filter(|frame| frame.kind == FrameKind::GaloisKey).count();
            facts.push(("rotations", json!(rotations), rotations.to_string()));
            let relin = rotations < frames.len();
            let text = if relin { "relinearisation key present" } else { "no relinearisation key" };
            facts.push(("products", json!(relin), text.to_owned()));
        }
    }
    Description { params: Some(file.params.clone()), facts }
}

fn sealed_fact(sealed: bool) -> (&'static str, Value, String) {
    ("sealed", json!(sealed), if sealed { "by a passphrase" } else { "no" }.to_owned())
}

fn describe_aes_key(file: &AesKey, size: Option<u64>) -> Description {
    let id = file.key.id().to_string();
    let mut facts =
        vec![("file", json!("AES key"), "AES key, 256 bits".to_owned()), ("key", json!(id), id.clone())];
    facts.extend(size.map(size_fact));
    facts.push(sealed_fact(file.sealed));
    Description { params: None, facts }
}

/// What the header of a file under AES says; nobody can verify it without the key.
fn describe_file(file: &Sealed, size: Option<u64>) -> Result<Description> {
    let header = &file.header;
    let kind = match header.content() {
        Content::Bytes => "encrypted file",
        Content::Tar => "encrypted folder",
    };
    let mut facts = vec![
        ("file", json!(kind), kind.to_owned()),
        ("cipher", json!("AES-256-GCM"), "AES-256-GCM".to_owned()),
    ];
    match header.lock() {
        Lock::Key => facts.push(("key", json!(header.id().to_string()), header.id().to_string())),
        Lock::Passphrase(cost) => {
            let memory = units::bytes(u64::from(cost.memory_kib) << 10);
            let text = format!("Argon2id, {memory}, passes: {}, lanes: {}", cost.passes, cost.lanes);
            let value = json!({ "memory_kib": cost.memory_kib, "passes": cost.passes, "lanes": cost.lanes });
            facts.push(("passphrase", value, text));
        }
    }
    let chunk = header.layout().chunk_len() as u64;
    facts.push(("chunk", json!(chunk), units::bytes(chunk)));
    if let Some(extent) = file.extent()? {
        facts.push(("content", json!(extent.plain), units::bytes(extent.plain)));
    }
    facts.extend(size.map(size_fact));
    Ok(Description { params: None, facts })
}

fn describe_ciphertexts(mut reader: CipherReader, size: Option<u64>) -> Result<Description> {
    let mut facts = Vec::new();
    match &reader.payload.content {
        payload::Content::Image(image) => {
            facts.push(("file", json!("encrypted image"), "encrypted image".to_owned()));
            let text = format!(
                "{} x {}, {}, {} bits a sample",
                image.width, image.height, image.channels, image.depth
            );
            facts.push(("image", serde_json::to_value(image).unwrap_or_default(), text));
            let text = format!("{} of {} pixels left for filters", image.halo_left, image.halo);
            facts.push(("halo", json!(image.halo_left), text));
        }
        payload::Content::Table(table) => {
            facts.push(("file", json!("encrypted table"), "encrypted table".to_owned()));
            let names: Vec<&str> = table.columns.iter().filter_map(|column| column.name.as_deref()).collect();
            let (rows, columns) = (table.rows, table.columns.len());
            let mut text = format!(
                "{rows} row{}, {columns} column{}",
                if rows == 1 { "" } else { "s" },
                if columns == 1 { "" } else { "s" }
            );
            if !names.is_empty() {
                text += &format!(": {}", names.join(", "));
            }
            facts.push(("table", serde_json::to_value(table).unwrap_or_default(), text));
        }
    }
    let history = &reader.payload.history;
    let text = if history.is_empty() { "fresh".to_owned() } else { history.join(", ") };
    facts.push(("history", json!(history), text));
    facts.push(("key set", json!(reader.payload.key_id.short()), reader.payload.key_id.short().to_owned()));
    // All frames are read, so that what is said holds for an undamaged file.
    let (mut count, mut levels, mut scales, mut seeded) = (0u64, Vec::new(), Vec::new(), false);
    while let Some(frame) = reader.verified()? {
        let header = wire::ciphertext_header(&reader.params, &frame).in_file(&reader.name)?;
        count += header.batch as u64;
        levels.push(header.level);
        scales.push(header.scale.log2());
        seeded |= frame.kind == FrameKind::CkksSeededCiphertext;
    }
    let text = format!("{count}{}", if seeded { ", the second half of each as a seed" } else { "" });
    facts.push(("ciphertexts", json!(count), text));
    if let (Some(&level), Some(&scale)) = (levels.iter().min(), scales.first()) {
        facts.push(("level", json!(level), format!("{level} of {}", reader.params.max_level())));
        facts.push(("scale log2", json!(scale), format!("{scale:.4}")));
    }
    facts.extend(size.map(size_fact));
    Ok(Description { params: Some(reader.params), facts })
}
