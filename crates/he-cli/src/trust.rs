//! TLS with the certificates of a file: authorities, and services' own.
//!
//! A certificate that `openssl req -x509` makes says of itself that it is an authority, and webpki
//! refuses an authority as the certificate of a service. A certificate that is equal to one of the
//! file, byte for byte, is accepted nevertheless if it is valid now and has the name of the
//! service: it was put there for that.

use crate::error::{CliError, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

/// Agrees on TLS with services that the certificates of a file vouch for.
#[derive(Debug)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// In these certificates, which are those of the file `path`.
    ///
    /// # Errors
    /// None of them can be used.
    pub fn new(certificates: Vec<CertificateDer<'static>>, path: &Path) -> Result<Self> {
        let unusable = |error: &dyn std::fmt::Display| {
            CliError::new(format!("{} holds no certificates that can be used: {error}", path.display()))
                .hint("give certificates in PEM: -----BEGIN CERTIFICATE-----")
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let usual = verifier.build().map_err(|error| unusable(&error))?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier { usual, certificates }))
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

/// Whether webpki has found the certificate to be one that nobody vouches for but itself. It looks
/// at the dates before.
fn is_its_own(error: &rustls::Error) -> bool {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        rustls::Error::InvalidCertificate(CertificateError::Other(error)) => {
            matches!(error.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
        }
        _ => false,
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        match self.usual.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            Err(error) if is_its_own(&error) && self.certificates.iter().any(|known| known == end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

impl<In: Transport> Connector<In> for Trust {
    type Out = Either<In, Secured>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> std::result::Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else { return Ok(None) };
        if !details.needs_tls() || transport.is_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| ureq::Error::Tls("the host has no name that a certificate can have"))?;
        let mut connection = ClientConnection::new(Arc::clone(&self.0), name)?;
        let mut socket = TransportAdapter::new(transport.boxed(), Arc::clone(&details.current_time));
        socket.set_timeout(details.timeout);
        connection.complete_io(&mut socket)?;
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Either::B(Secured { buffers, stream: StreamOwned::new(connection, socket) })))
    }
}

/// A connection over TLS.
pub struct Secured {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl std::fmt::Debug for Secured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secured").field("over", &self.stream.sock.inner()).finish_non_exhaustive()
    }
}

impl Transport for Secured {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(
        &mut self,
        amount: usize,
        timeout: NextTimeout,
    ) -> std::result::Result<(), ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        Ok(self.stream.write_all(&self.buffers.output()[..amount])?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        let amount = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::pem::PemObject;
    use std::time::Duration;

    /// Made by `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 100
    /// -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1`: CA:TRUE.
    const OWN: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBmjCCAT+gAwIBAgIUJVZN0a+3m2iq5DJAfWMv5PQ5F8EwCgYIKoZIzj0EAwIw\n\
FDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2MTEyOTIwNDAzMVoXDTI3MDMwOTIw\n\
NDAzMVowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D\n\
AQcDQgAEM6cOh5xo2xAyho9o1q0YTt6wze4m8IF5UP+qXeZe93xRBKgacgKCyc3X\n\
5lQTlVMf7SsG9MQeY6de5tKgEy7TiKNvMG0wHQYDVR0OBBYEFCufO+QCIqreTpco\n\
W+oysOxJi85zMB8GA1UdIwQYMBaAFCufO+QCIqreTpcoW+oysOxJi85zMA8GA1Ud\n\
EwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49\n\
BAMCA0kAMEYCIQC3C2ODBlefwzZcQ2ZcPmQqgcobEDI8wD17/VWc+KJHeAIhAKED\n\
TdBWcq2yFxYKjusWYXjWULF5SqgJtRbWKVIAhCxH\n\
-----END CERTIFICATE-----\n\
";
    /// Its first second.
    const BEGIN: u64 = 1795984831;
    const DAY: u64 = 86_400;

    /// Whether a service of this name may have the certificate, at this time.
    fn verified(certificate: &str, host: &str, time: u64) -> std::result::Result<(), rustls::Error> {
        let own = CertificateDer::from_pem_slice(OWN.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(own.clone()).unwrap();
        let provider = Arc::new(default_provider());
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let verifier = Verifier { usual, certificates: vec![own] };
        let shown = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let (name, now) = (host.try_into().unwrap(), UnixTime::since_unix_epoch(Duration::from_secs(time)));
        verifier.verify_server_cert(&shown, &[], &name, &[], now).map(|_| ())
    }

    #[test]
    fn a_certificate_of_its_own_is_accepted_as_it_is_in_the_file() {
        for host in ["localhost", "127.0.0.1"] {
            verified(OWN, host, BEGIN + DAY).unwrap();
        }
        let refused = |certificate: &str, host: &str, time| match verified(certificate, host, time) {
            Err(rustls::Error::InvalidCertificate(error)) => error,
            other => panic!("{other:?}"),
        };
        use CertificateError as E;
        assert!(matches!(refused(OWN, "localhost", BEGIN - 1), E::NotValidYetContext { .. }));
        assert!(matches!(refused(OWN, "localhost", BEGIN + 101 * DAY), E::ExpiredContext { .. }));
        assert!(matches!(refused(OWN, "example.org", BEGIN + DAY), E::NotValidForNameContext { .. }));
        assert!(matches!(refused(OWN, "127.0.0.2", BEGIN + DAY), E::NotValidForNameContext { .. }));
        // One bit of the signature more, and it is another certificate.
        let other = OWN.replace("BAMCA0kAMEYC", "BAMAA0kAMEYC");
        assert_ne!(other, OWN);
        assert!(matches!(refused(&other, "localhost", BEGIN + DAY), E::Other(_)));
    }
}
