//! Several parties, each with a folder of files: the steps of `he-cli party`.

use crate::error::{Fault, Result};
use crate::files::{Goal, Place, encrypted, found, given, interruptible, opening, passphrase, source};
use crate::params::PyParams;
use crate::run::detached;
use crate::secrets;
use he_files::io::input::Input;
use he_files::needs::{IntegerNeeds, Published, RealNeeds};
use he_files::party::folder::{Folder, PUBLIC_KEY, Placed};
use he_files::party::{AnyAgreed, Needs, Step};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// The folder of a party.
#[pyclass(frozen, module = "he._he", name = "_Party")]
pub struct PyParty(Folder);

fn inputs(places: &[Place], name: &str) -> Result<Vec<Input>> {
    let numbered = |(at, place): (usize, &Place)| place.input(&format!("{name} {}", at + 1));
    places.iter().enumerate().map(numbered).collect()
}

fn names(placed: Vec<Placed>) -> Vec<String> {
    placed.into_iter().map(|file| file.name).collect()
}

/// The steps of a program from their serde form.
fn steps(text: &str) -> Result<Vec<Step>> {
    let steps: Vec<serde_json::Value> =
        serde_json::from_str(text).map_err(|error| Fault::Value(error.to_string()))?;
    let step = |value| {
        let step: Step = given(value)?;
        step.operation.check()?;
        Ok(step)
    };
    steps.into_iter().map(step).collect()
}

#[pymethods]
impl PyParty {
    /// Makes the folder of a party, in a session that is given or new.
    #[staticmethod]
    #[pyo3(signature = (
        folder, party, session, parties, threshold, scheme, depth, precision_bits, range_bits, slots, bits,
        plain_modulus, decryptions, statistical_security, passphrase
    ))]
    fn create(
        py: Python<'_>,
        folder: PathBuf,
        party: u32,
        session: Option<Place>,
        parties: u32,
        threshold: Option<usize>,
        scheme: &str,
        depth: Option<usize>,
        precision_bits: Option<u32>,
        range_bits: Option<u32>,
        slots: Option<usize>,
        bits: Option<u32>,
        plain_modulus: Option<u64>,
        decryptions: u64,
        statistical_security: u32,
        passphrase: Option<&str>,
    ) -> PyResult<Self> {
        detached(py, || {
            secrets::check_allowed("making the secret of a party")?;
            let agreed = match session {
                Some(session) => AnyAgreed::read(session.input("session")?)?,
                None => {
                    let real = RealNeeds::default();
                    let real = RealNeeds {
                        depth: depth.unwrap_or(real.depth),
                        precision: precision_bits.unwrap_or(real.precision),
                        range: range_bits.unwrap_or(real.range),
                        slots: slots.unwrap_or(real.slots),
                        ..real
                    };
                    let integers = IntegerNeeds::default();
                    let integers = IntegerNeeds {
                        depth: depth.unwrap_or(integers.depth),
                        bits: bits.unwrap_or(integers.bits),
                        plain_modulus,
                        ..integers
                    };
                    let needs = match scheme {
                        "ckks" => Needs::Ckks { needs: real, wish: precision_bits.is_none() },
                        "bfv" => Needs::Bfv(integers),
                        "bgv" => Needs::Bgv(integers),
                        other => {
                            let what =
                                format!("the scheme {other:?}; \"ckks\", \"bfv\" and \"bgv\" are possible");
                            return Err(Fault::Value(what));
                        }
                    };
                    let published = Published { decryptions, security_bits: statistical_security };
                    AnyAgreed::for_needs(&needs, published, parties, threshold)?
                }
            };
            Ok(Self(Folder::create(&folder, agreed, party, self::passphrase(passphrase)?)?.0))
        })
    }

    /// Opens the folder of a party.
    #[staticmethod]
    #[pyo3(signature = (folder, passphrase, allow_cost))]
    fn open(py: Python<'_>, folder: PathBuf, passphrase: Option<&str>, allow_cost: bool) -> PyResult<Self> {
        detached(py, || {
            let own = Folder::open(&folder)?;
            Ok(Self(match passphrase {
                Some(text) => own.unlocked(|_| opening(text, allow_cost))?,
                None => own,
            }))
        })
    }

    /// The path of a file of the folder.
    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    #[getter]
    fn parties(&self) -> Vec<u32> {
        self.0.agreed().session().parties().to_vec()
    }

    #[getter]
    fn threshold(&self) -> usize {
        self.0.agreed().session().threshold()
    }

    #[getter]
    fn key_set(&self) -> String {
        self.0.agreed().id().short().to_owned()
    }

    #[getter]
    fn params(&self) -> PyParams {
        PyParams(match self.0.agreed() {
            AnyAgreed::Ckks(agreed) => agreed.params.clone().into(),
            AnyAgreed::Bfv(agreed) => agreed.params.clone().into(),
            AnyAgreed::Bgv(agreed) => agreed.params.clone().into(),
        })
    }

    fn share_keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || {
            secrets::check_allowed("making shares of keys")?;
            Ok(names(self.0.share_keys()?))
        })
    }

    fn share_relinearisation(&self, py: Python<'_>, first: Vec<Place>) -> PyResult<Vec<String>> {
        detached(py, || {
            secrets::check_allowed("making shares of keys")?;
            Ok(names(self.0.share_relin(inputs(&first, "message")?)?))
        })
    }

    fn share_secret(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || {
            secrets::check_allowed("dealing a secret")?;
            Ok(names(self.0.share_secret()?))
        })
    }

    fn combine_keys(&self, py: Python<'_>, first: Vec<Place>, second: Vec<Place>) -> PyResult<Vec<String>> {
        detached(py, || {
            let second = inputs(&second, "second message")?;
            Ok(names(self.0.combine_keys(inputs(&first, "message")?, second)?))
        })
    }

    fn combine_secret(&self, py: Python<'_>, shares: Vec<Place>) -> PyResult<Vec<String>> {
        detached(py, || {
            secrets::check_allowed("making a threshold key")?;
            Ok(names(self.0.combine_secret(inputs(&shares, "message")?)?))
        })
    }

    /// Encrypts a table and notes it as one of the party.
    #[pyo3(signature = (source, output, columns, categories))]
    fn encrypt<'py>(
        &self,
        source: &Bound<'py, PyAny>,
        output: Option<PathBuf>,
        columns: Vec<String>,
        categories: Vec<String>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let py = source.py();
        let (source, goal) = (self::source(source)?, Goal::new(output, false, false));
        detached(py, || {
            // Before anything is encrypted, so that the list can be written.
            let own = self.0.own_tables()?;
            let key = Place::Path(self.0.path(PUBLIC_KEY));
            encrypted(source, &key, None, (&columns, &categories), None, "cpu", &goal)?;
            let noted = self.0.note_own(own, || goal.written("the table"));
            if noted.is_err() {
                goal.removed();
            }
            Ok(noted?)
        })?;
        Ok(goal.bytes(py))
    }

    /// Computes a result again and writes down what it is.
    #[pyo3(signature = (inputs, steps, result, output))]
    fn check<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<(u32, Place)>,
        steps: &str,
        result: Place,
        output: Option<PathBuf>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let goal = Goal::new(output, false, false);
        detached(py, || {
            secrets::check_allowed("making a transcript")?;
            let steps = self::steps(steps)?;
            let read: Vec<&Place> = inputs.iter().map(|(_, place)| place).chain([&result]).collect();
            let output = goal.output(&read)?;
            let opened = |(at, (party, place)): (usize, &(u32, Place))| {
                Ok((*party, place.input(&format!("input {}", at + 1))?))
            };
            let inputs = inputs.iter().enumerate().map(opened).collect::<Result<_>>()?;
            let watch = interruptible();
            Ok(self.0.check(inputs, steps, result.input("the result")?, &watch, output).map(drop)?)
        })?;
        Ok(goal.bytes(py))
    }

    /// Makes the party's share of a decryption.
    #[pyo3(signature = (result, transcripts, quorum, output))]
    fn share<'py>(
        &self,
        py: Python<'py>,
        result: Place,
        transcripts: Vec<Place>,
        quorum: Vec<u32>,
        output: Option<PathBuf>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let goal = Goal::new(output, false, false);
        detached(py, || {
            secrets::check_allowed("making a share of a decryption")?;
            let quorum = self.0.agreed().quorum(&quorum)?;
            let read: Vec<&Place> = transcripts.iter().chain([&result]).collect();
            let output = goal.output(&read)?;
            let transcripts = inputs(&transcripts, "transcript")?;
            Ok(self
                .0
                .share_decryption(result.input("the result")?, transcripts, &quorum, output)
                .map(drop)?)
        })?;
        Ok(goal.bytes(py))
    }

    /// Decrypts a result from the shares of a quorum.
    #[pyo3(signature = (result, transcripts, shares, quorum))]
    fn combine<'py>(
        &self,
        py: Python<'py>,
        result: Place,
        transcripts: Vec<Place>,
        shares: Vec<Place>,
        quorum: Vec<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = detached(py, || {
            let quorum = self.0.agreed().quorum(&quorum)?;
            let (transcripts, shares) = (inputs(&transcripts, "transcript")?, inputs(&shares, "share")?);
            let result = result.input("the result")?;
            found(self.0.combine_decryption(result, transcripts, shares, &quorum)?.plain)
        })?;
        found.into_python(py)
    }
}
