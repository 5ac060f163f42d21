//! The keys of a scheme over rings, and what is done with them step by step.

use crate::error::Result;
use crate::feed::Feed;
use crate::task::{Tell, Written, pause};
use he::Device;
use he_core::wire::{Frame, FrameWriter, Wire, WireKeys, WireParams};
use he_files::cipher_file::{CipherReader, CipherWriter};
use he_files::contents::Contents;
use he_files::contents::clear::{Clear, Plain, View};
use he_files::contents::unpack::Opened;
use he_files::key_file::{Key, KeyFile, write_key};
use he_files::key_set::secret_file;
use he_files::models::examples::Examples;
use he_files::models::{Encryption, ModelFile};
use he_files::note::{self, KeyId, KeyNote, Payload};
use he_files::passphrase::Passphrase;
use he_files::scheme::{Ckks, KeyMaker, OfKeySet, Rotations, Scheme};
use he_files::team::Team;
use he_files::watch::{Meter, Stage};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde_json::{Map, Value, json};
use std::rc::Rc;
use zeroize::Zeroizing;

/// The names of the loaded keys, and of a file that is decrypted, in errors.
const KEYS: &str = "the secret key";
const FILE: &str = "the file";

/// The keys of a scheme.
pub struct Keys<S: Scheme> {
    team: Team<S>,
    file: KeyFile<S>,
    rotations: Rotations,
    /// Public and evaluation keys, unless only the secret key was loaded.
    made: Option<(S::Public, S::Evaluation)>,
}

impl<S: Contents> Keys<S> {
    /// Makes keys: those of [`KeySet::generate`](he_files::key_set::KeySet::generate), one by one.
    pub async fn generate(
        params: S::Params,
        rotations: Rotations,
        mut rng: ChaCha20Rng,
        tell: Tell,
    ) -> Result<Self> {
        let team = Team::<S>::new(&params, &[Device::cpu()])?;
        let ring = &team.lead().ring;
        let parts = S::Secret::evaluation_parts(ring, &rotations);
        tell.begin(parts.len() + 1);
        pause().await;
        let secret = S::secret(&params, &mut rng);
        let public = secret.public(ring, &mut rng)?;
        let mut evaluation = S::Evaluation::empty(&params, ring)?;
        for part in parts {
            tell.advance(1);
            pause().await;
            secret.add_part(&mut evaluation, part, &mut rng)?;
        }
        tell.advance(1);
        let id = KeyId::random(&mut rng);
        let (secret, public, evaluation) = (secret.of(&id), public.of(&id), evaluation.of(&id));
        let file = KeyFile { name: KEYS.to_owned(), params, id, key: Key::Secret(secret), sealed: false };
        Ok(Self { team, file, rotations, made: Some((public, evaluation)) })
    }

    /// The secret key of a file; the others are made of it when they are asked for.
    ///
    /// # Errors
    /// It is another kind of key.
    pub fn load(file: KeyFile<S>, rotations: Rotations) -> Result<Self> {
        file.secret()?;
        let team = Team::<S>::new(&file.params, &[Device::cpu()])?;
        Ok(Self { team, file, rotations, made: None })
    }

    /// Their parameters.
    pub fn params(&self) -> &S::Params {
        &self.file.params
    }

    /// Their scheme.
    pub fn scheme(&self) -> &'static str {
        <S as Scheme>::NAME
    }

    /// Describes the keys, for programs.
    pub fn info(&self) -> Value {
        json!({
            "scheme": self.scheme(),
            "keySet": self.file.id.short(),
            "rotations": self.rotations.steps.len(),
            "parameters": <S as Scheme>::params_json(&self.file.params),
        })
    }

    /// The file of the secret key.
    ///
    /// # Errors
    /// There is too little memory for Argon2id.
    pub fn secret_file(&self, passphrase: Option<&Passphrase>) -> Result<Zeroizing<Vec<u8>>> {
        let KeyFile { params, id, .. } = &self.file;
        Ok(secret_file::<S>(self.file.secret()?, params, id, passphrase, KEYS)?)
    }

    /// The file of the public key; `rng` makes one where the secret key alone was loaded.
    ///
    /// # Errors
    /// None that keys of these parameters have.
    pub fn public_file(&self, rng: &mut ChaCha20Rng) -> Result<Vec<u8>> {
        let KeyFile { params, id, .. } = &self.file;
        let frame = match &self.made {
            Some((public, _)) => public.to_frame(params),
            None => self.file.secret()?.public(&self.team.lead().ring, rng)?.of(id).to_frame(params),
        };
        let mut file = Vec::new();
        write_key::<S>(&mut file, params, id, [frame], "the public key")?;
        Ok(file)
    }

    /// Writes the file of the evaluation keys, key by key. Where the secret key alone was loaded,
    /// each is made of it and dropped once it is written.
    pub async fn evaluation_file(
        self: Rc<Self>,
        mut rng: ChaCha20Rng,
        written: Written,
        tell: Tell,
    ) -> Result<Value> {
        let (params, id, ring) = (&self.file.params, &self.file.id, &self.team.lead().ring);
        let fingerprint = params.fingerprint();
        let mut frames = FrameWriter::new(written);
        let mut bytes = frames.write(&params.to_frame())?;
        let note = note::key_frame(fingerprint, &KeyNote::of(id))?;
        bytes += frames.write(&note)?;
        let parts = S::Secret::evaluation_parts(ring, &self.rotations);
        tell.begin(parts.len());
        let mut write = |frame: he_core::Result<Frame>| -> Result<()> {
            bytes += frames.write(&frame?)?;
            tell.advance(1);
            Ok(())
        };
        if let Some((_, evaluation)) = &self.made {
            for frame in evaluation.to_frames(params) {
                write(frame)?;
                pause().await;
            }
        } else {
            for part in parts {
                let mut one = S::Evaluation::empty(params, ring)?;
                self.file.secret()?.add_part(&mut one, part, &mut rng)?;
                one.to_frames(params).try_for_each(&mut write)?;
                pause().await;
            }
        }
        frames.finish(fingerprint)?;
        Ok(json!({ "bytes": bytes + Frame::size(he_files::key_file::END_MARK) }))
    }

    /// Encrypts by the secret key into the file that he-cli makes of the same seed.
    pub async fn encrypt(
        self: Rc<Self>,
        clear: Clear<S::Table>,
        halo: Option<usize>,
        mut rng: ChaCha20Rng,
        written: Written,
        tell: Tell,
    ) -> Result<Value> {
        let (params, engine) = (&self.file.params, self.team.lead());
        let content = S::describe(&clear, params, halo, &tell)?;
        let payload = Payload { key_id: self.file.id.clone(), history: Vec::new(), content };
        let encryptor = S::secret_encryptor(engine, self.file.secret()?)?;
        let mut writer = CipherWriter::new::<S>(written.output(FILE), params, &payload)?;
        let slots = payload.content.slots(S::slots(params));
        let meter = Meter::new(&tell, Stage::Encrypting, payload.content.vectors(S::slots(params))?);
        for vectors in S::pack(&clear, params, &payload.content)? {
            let (vectors, mut own) = (vectors?, ChaCha20Rng::from_rng(&mut rng));
            writer.send(encryptor(&vectors, slots, &mut own)?.seal())?;
            meter.inc(vectors.len() as u64);
            pause().await;
        }
        meter.finish();
        let facts: Map<String, Value> = writer.commit()?.facts;
        Ok(Value::Object(facts))
    }

    /// Decrypts a file that is pushed in.
    pub async fn decrypt(self: Rc<Self>, feed: Feed, view: View, tell: Tell) -> Result<Plain> {
        // Parameters and description.
        feed.frames(2).await;
        let input = he_files::io::input::Input::from_reader(FILE, feed.clone());
        let mut reader = CipherReader::<S>::new(input)?;
        self.file.check_owner(&reader.params, &reader.payload.key_id, FILE)?;
        let content = reader.payload.content.clone();
        feed.set_limit(reader.params.ciphertext_frame_limit(content.batch()));
        let engine = self.team.lead();
        let decryptor = S::decryptor(engine, self.file.secret()?)?;
        let decoder = reader.decoder();
        let mut unpacker = S::unpacker(Opened::new(&reader, view, &tell), &content)?;
        let batches = content.batches(S::slots(&reader.params))?;
        for (number, (part, count)) in (3..).zip(batches) {
            feed.frames(number).await;
            let ct = decoder.decode(&engine.ring, reader.frame()?, count)?;
            unpacker.take(part, decryptor(&ct)?)?;
            pause().await;
        }
        feed.whole().await;
        reader.end()?;
        Ok(unpacker.finish()?)
    }
}

impl Keys<Ckks> {
    /// Encrypts examples for a model by the secret key into the file that he-cli makes of the same
    /// seed.
    pub async fn encrypt_examples(
        self: Rc<Self>,
        model: Rc<ModelFile>,
        examples: Examples,
        mut rng: ChaCha20Rng,
        written: Written,
        tell: Tell,
    ) -> Result<Value> {
        let (params, engine) = (&self.file.params, self.team.lead());
        let encryption = Encryption::new(&model, &self.file, &examples)?;
        let encryptor = Ckks::secret_encryptor(engine, self.file.secret()?)?;
        let mut writer = CipherWriter::new::<Ckks>(written.output(FILE), params, &encryption.payload)?;
        tell.begin(examples.rows.len());
        for batch in encryption.batches() {
            let (count, parts) = batch?;
            for vectors in parts {
                let mut own = ChaCha20Rng::from_rng(&mut rng);
                writer.send(encryptor(&vectors, params.slots(), &mut own)?.seal())?;
                pause().await;
            }
            tell.advance(count as u64);
        }
        let facts: Map<String, Value> = writer.commit()?.facts;
        Ok(Value::Object(facts))
    }
}
