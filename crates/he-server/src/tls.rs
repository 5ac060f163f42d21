//! The certificate of HTTPS, which may be replaced while the service runs.

use crate::start_error::StartError;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Agrees on TLS with the certificate of two files.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    acceptor: RwLock<TlsAcceptor>,
}

impl Tls {
    /// Reads certificate and key.
    ///
    /// # Errors
    /// [`StartError::Tls`] if they cannot be read or do not belong together.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, StartError> {
        let acceptor = RwLock::new(read(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), acceptor })
    }

    /// Reads both again, for connections from now on.
    ///
    /// # Errors
    /// [`StartError::Tls`] as of [`Tls::open`]; the certificate stays what it was then.
    pub fn reload(&self) -> Result<(), StartError> {
        let acceptor = read(&self.certificate, &self.key)?;
        *self.acceptor.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }

    /// For the next connection.
    pub fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read(certificate: &Path, key: &Path) -> Result<TlsAcceptor, StartError> {
    fn bad<E: Display>(path: &Path) -> impl Fn(E) -> StartError + '_ {
        move |error| StartError::Tls { path: path.display().to_string(), reason: error.to_string() }
    }
    let chain = CertificateDer::pem_file_iter(certificate).map_err(bad(certificate))?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(bad(certificate))?;
    if chain.is_empty() {
        return Err(bad(certificate)("it holds no certificates"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(bad(key))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(bad(certificate))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(bad(certificate))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
