//! Connections: accepted up to a number, over TLS if there is a certificate, ended gracefully.

use crate::address::{self, is_loopback};
use crate::app::{App, StartError};
use crate::descriptors;
use crate::http::{Peer, metrics_router, router};
use crate::places::{Place, Places, Sending, Watched};
#[cfg(feature = "tls")]
use crate::tls::Tls;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;

/// A client that was refused may go on to send for so long, and so many bytes.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 << 20;
/// A computation that was told to end has so long for it: many times what it needs.
const ENDING: Duration = Duration::from_secs(5);
/// The connections to the database are closed within this time.
const CLOSING: Duration = Duration::from_secs(2);
/// The shortest time in which a piece of an answer must be read: events come every 15 s at least.
const LEAST_UNREAD: Duration = Duration::from_secs(30);
/// Connections for the metrics at the same time, where they have a listener.
const METRICS_PLACES: usize = 64;
/// TLS must be agreed on within this time.
#[cfg(feature = "tls")]
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A service that listens.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    /// The listener of the metrics, if they have one.
    metrics: Option<TcpListener>,
}

impl Server {
    /// Listens on the configured address; nothing is answered yet.
    ///
    /// # Errors
    /// [`StartError`] if the address cannot be used.
    pub async fn bind(app: Arc<App>) -> Result<Self, StartError> {
        let listen = app.config.listen;
        if app.config.tls.is_none() && !is_loopback(listen.ip()) {
            tracing::warn!(%listen, "plain HTTP, which others can read: set tls-certificate, or use a proxy");
        }
        descriptors::raise(2 * app.config.connections.0);
        let metrics = match app.config.metrics_listen {
            Some(listen) => Some(TcpListener::bind(listen).await.map_err(StartError::io(listen))?),
            None => None,
        };
        let listener = TcpListener::bind(listen).await.map_err(StartError::io(listen))?;
        Ok(Self { listener, metrics, app })
    }

    /// The address, with the port that was given if none was asked for.
    ///
    /// # Errors
    /// The operating system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address of the metrics, if they have one.
    ///
    /// # Errors
    /// The operating system does not tell.
    pub fn metrics_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.metrics.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Answers requests until `end`; then it accepts no more connections, lets requests and jobs
    /// come to their end within the time that is configured, and leaves the other jobs to the next
    /// start: their computations end within a second. It returns some seconds after the configured
    /// time at the latest.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let app = Arc::clone(&self.app);
        let (most, of_address) = app.config.connections;
        let places = Places::new(most, of_address);
        let (stop, stopped) = watch::channel(false);
        let mut end = pin!(end);
        let door = Door {
            router: router(Arc::clone(&app)),
            places: Arc::clone(&places),
            stopped: stopped.clone(),
            #[cfg(feature = "tls")]
            is_secure: true,
            app: Arc::clone(&app),
        };
        let metrics_door = Door {
            router: metrics_router(Arc::clone(&app)),
            places: Places::new(METRICS_PLACES, METRICS_PLACES),
            #[cfg(feature = "tls")]
            is_secure: false,
            ..door.clone()
        };
        let metrics = async {
            match &self.metrics {
                Some(listener) => metrics_door.open(listener).await,
                None => std::future::pending().await,
            }
        };
        let unread = Duration::from_secs(app.config.seconds.body).max(LEAST_UNREAD);
        let overdue = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                places.close_overdue(unread);
            }
        };
        tokio::select! {
            () = door.open(&self.listener) => {}
            () = metrics => {}
            () = overdue => {}
            () = app.hold.lost() => {}
            () = &mut end => {}
        }
        drop(self.metrics);
        drop(self.listener);
        tracing::info!("no more connections are accepted");
        app.jobs.hold();
        stop.send_replace(true);
        let patience = Duration::from_secs(app.config.seconds.shutdown);
        let idle = async {
            while places.count() > 0 || app.jobs.counts().1 > 0 {
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
        drop(tokio::time::timeout(CLOSING, app.close()).await);
        tracing::info!("the service has ended");
    }
}

/// The state that a listener's connections share.
#[derive(Clone)]
struct Door {
    app: Arc<App>,
    router: axum::Router,
    places: Arc<Places>,
    stopped: watch::Receiver<bool>,
    /// Whether connections are those of HTTPS, if the service has a certificate.
    #[cfg(feature = "tls")]
    is_secure: bool,
}

impl Door {
    /// Accepts connections for ever.
    async fn open(&self, listener: &TcpListener) {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, for example: another connection may give way.
                    self.places.relieve();
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let address = peer.ip().to_canonical();
            let shared = self.app.config.proxies.contains(&address);
            let Some(place) = self.places.enter(address::counted(address), shared) else {
                self.app.metrics.turned_away();
                continue;
            };
            let door = self.clone();
            tokio::spawn(async move {
                door.app.metrics.connected(1);
                // Answers are written at once; most are a single packet.
                drop(stream.set_nodelay(true));
                tokio::select! {
                    () = door.greet(stream, peer, &place) => {}
                    () = place.seat.closed() => door.app.metrics.gave_way(),
                }
                door.app.metrics.connected(-1);
            });
        }
    }

    #[cfg(not(feature = "tls"))]
    async fn greet(&self, stream: TcpStream, peer: SocketAddr, place: &Place) {
        self.talk(stream, peer, place).await;
    }

    #[cfg(feature = "tls")]
    async fn greet(&self, stream: TcpStream, peer: SocketAddr, place: &Place) {
        let tls = self.app.tls.as_ref().filter(|_| self.is_secure).map(Tls::acceptor);
        let Some(tls) = tls else { return self.talk(stream, peer, place).await };
        if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
            self.talk(stream, peer, place).await;
        }
    }

    /// Answers the requests of a connection.
    async fn talk(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        place: &Place,
    ) {
        let (app, mut stopped) = (&self.app, self.stopped.clone());
        let (router, seat) = (self.router.clone(), Arc::clone(&place.seat));
        let stream = Watched { stream, seat: Arc::clone(&seat) };
        type Answered = Pin<Box<dyn Future<Output = Result<hyper::Response<Answer>, Infallible>> + Send>>;
        let service = service_fn(move |mut request: hyper::Request<Incoming>| -> Answered {
            seat.begin();
            let seat = Arc::clone(&seat);
            request.extensions_mut().insert(Peer(peer));
            let answered = router.clone().oneshot(request.map(axum::body::Body::new));
            Box::pin(async move { Ok(answered.await?.map(|body| Answer { body, _sending: seat.sending() })) })
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
            Ok(()) => linger(connection.into_parts().io.into_inner().stream).await,
            // The client has gone, or sends what is not HTTP.
            Err(error) => tracing::debug!(%error, "a connection has ended"),
        }
    }
}

/// The body of an answer, which says when all of it was sent.
struct Answer {
    body: axum::body::Body,
    _sending: Sending,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
