//! Connections: accepted up to a number, over TLS if there is a certificate, ended gracefully.

use crate::app::{App, StartError};
use crate::http::{Peer, router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

/// A client that was refused may go on to send for so long, and so many bytes.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 << 20;
/// A computation that was told to end has so long for it: many times what it needs.
const ENDING: Duration = Duration::from_secs(5);
/// The connections to the database are closed within this time.
const CLOSING: Duration = Duration::from_secs(2);
/// TLS must be agreed on within this time.
#[cfg(feature = "tls")]
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A service that listens.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsAcceptor>,
}

impl Server {
    /// Listens on the configured address; nothing is answered yet.
    ///
    /// # Errors
    /// [`StartError`] if the address or the certificate cannot be used.
    pub async fn bind(app: Arc<App>) -> Result<Self, StartError> {
        let listen = app.config.listen;
        Ok(Self {
            listener: TcpListener::bind(listen).await.map_err(StartError::io(listen))?,
            #[cfg(feature = "tls")]
            tls: app.config.tls.as_ref().map(|(certificate, key)| acceptor(certificate, key)).transpose()?,
            app,
        })
    }

    /// The address, with the port that was given if none was asked for.
    ///
    /// # Errors
    /// The operating system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `end`; then it accepts no more connections, lets requests and jobs
    /// come to their end within the time that is configured, and leaves the other jobs to the next
    /// start: their computations end within a second. It returns some seconds after the configured
    /// time at the latest.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let app = Arc::clone(&self.app);
        let router = router(Arc::clone(&app));
        let places = Arc::new(Semaphore::new(app.config.connections));
        let (stop, stopped) = watch::channel(false);
        let mut end = pin!(end);
        loop {
            let place = tokio::select! {
                place = Arc::clone(&places).acquire_owned() => place,
                () = &mut end => break,
            };
            let (stream, peer) = tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        // Too many open files, for example: others will be closed.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
                () = &mut end => break,
            };
            let (app, router, stopped) = (Arc::clone(&app), router.clone(), stopped.clone());
            #[cfg(feature = "tls")]
            let tls = self.tls.clone();
            tokio::spawn(async move {
                let _place = place;
                app.metrics.connected(1);
                // Answers are written at once; most are a single packet.
                drop(stream.set_nodelay(true));
                #[cfg(feature = "tls")]
                talk_over(&app, tls, stream, router, peer, stopped).await;
                #[cfg(not(feature = "tls"))]
                talk(&app, stream, router, peer, stopped).await;
                app.metrics.connected(-1);
            });
        }
        drop(self.listener);
        tracing::info!("no more connections are accepted");
        app.jobs.hold();
        stop.send_replace(true);
        let patience = Duration::from_secs(app.config.seconds.shutdown);
        let all = u32::try_from(app.config.connections).unwrap_or(u32::MAX);
        let idle = async {
            drop(places.acquire_many(all).await);
            while app.jobs.counts().1 > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(patience, idle).await.is_err() {
            tracing::warn!("jobs or connections are left");
        }
        app.jobs.leave();
        let ending = async {
            while app.jobs.counts().1 > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(ENDING, ending).await.is_err() {
            tracing::warn!("a job does not end");
        }
        // Requests that are left may hold a connection to a database that does not answer.
        drop(tokio::time::timeout(CLOSING, app.db.close()).await);
        tracing::info!("the service has ended");
    }
}

#[cfg(feature = "tls")]
async fn talk_over(
    app: &Arc<App>,
    tls: Option<tokio_rustls::TlsAcceptor>,
    stream: tokio::net::TcpStream,
    router: axum::Router,
    peer: SocketAddr,
    stopped: watch::Receiver<bool>,
) {
    let Some(tls) = tls else { return talk(app, stream, router, peer, stopped).await };
    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
        talk(app, stream, router, peer, stopped).await;
    }
}

/// Answers the requests of a connection.
async fn talk(
    app: &Arc<App>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: axum::Router,
    peer: SocketAddr,
    mut stopped: watch::Receiver<bool>,
) {
    type Answered = Pin<Box<dyn Future<Output = Result<axum::response::Response, Infallible>> + Send>>;
    let service = service_fn(move |mut request: hyper::Request<Incoming>| -> Answered {
        request.extensions_mut().insert(Peer(peer));
        Box::pin(router.clone().oneshot(request.map(axum::body::Body::new)))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(app.config.seconds.idle))
        .max_buf_size(1 << 18)
        .max_headers(100)
        .keep_alive(true);
    let mut connection = http.serve_connection(TokioIo::new(stream), service);
    let stop = async {
        // The sender outlives all connections; a lock must not be held while they end.
        drop(stopped.wait_for(|stopped| *stopped).await);
    };
    let ended = tokio::select! {
        ended = poll_fn(|cx| connection.poll_without_shutdown(cx)) => ended,
        () = stop => {
            Pin::new(&mut connection).graceful_shutdown();
            poll_fn(|cx| connection.poll_without_shutdown(cx)).await
        }
    };
    match ended {
        Ok(()) => linger(connection.into_parts().io.into_inner()).await,
        // The client has gone, or sends what is not HTTP.
        Err(error) => tracing::debug!(%error, "a connection has ended"),
    }
}

/// Closes a connection so that its last answer arrives: what a client still sends of a body that
/// was refused is read and thrown away for a while, because the operating system would otherwise
/// reset the connection, and the answer with it.
async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let rest = async {
        stream.shutdown().await?;
        let (mut buffer, mut left) = (vec![0; 1 << 16], LINGER_BYTES);
        while left > 0 {
            match stream.read(&mut buffer).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        std::io::Result::Ok(())
    };
    drop(tokio::time::timeout(LINGER, rest).await);
}

/// Agrees on TLS with this certificate.
#[cfg(feature = "tls")]
fn acceptor(
    certificate: &std::path::Path,
    key: &std::path::Path,
) -> Result<tokio_rustls::TlsAcceptor, StartError> {
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring::default_provider;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    fn bad<E: std::fmt::Display>(path: &std::path::Path) -> impl Fn(E) -> StartError + '_ {
        move |error| StartError::Tls { path: path.display().to_string(), reason: error.to_string() }
    }
    let chain = CertificateDer::pem_file_iter(certificate).map_err(bad(certificate))?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(bad(certificate))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(bad(key))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(bad(certificate))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(bad(certificate))?;
    Ok(tokio_rustls::TlsAcceptor::from(Arc::new(config)))
}
