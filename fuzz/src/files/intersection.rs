//! Messages, states and sets of intersections.
//!
//! Must hold: bytes are refused or are those of the object that was read, and objects that are read
//! are used without a panic: requests get responses, queries get answers, answers are read.

use he::Device;
use he_core::ring::Ring;
use he_psi::{Answer, ClientState, Params, Plan, PreparedSet, Query, Request, Response, Server, ServerKey};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::sync::OnceLock;

/// The bytes of magic, kind and version, and of the checksum.
const HEADER: usize = 8;
const CHECKSUM: usize = 16;

/// A set of three items and a client that asks for two.
struct World {
    params: Params,
    ring: Ring<Device>,
    server: Server<Device>,
    state: ClientState,
    response: Response,
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1)
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let params = Plan::new(8, 2).insecure_log_n(5).params().expect("a plan");
        let ring = Ring::new(Device::cpu(), params.bfv().rlwe().ring().clone()).expect("a ring");
        let key = ServerKey::generate(&mut rng());
        let mut server = Server::new(&params, key, &ring).expect("a server");
        server.append(&["a", "b", "c"], &[[0u8; 0]; 0], &mut rng()).expect("a set");
        let state = ClientState::new(&params, &["b", "z"], &mut rng()).expect("a client");
        let response = server.respond(&state.request(&params).expect("a request")).expect("a response");
        World { params, ring, server, state, response }
    })
}

/// The bytes with a header, the identity of the plan and a checksum that are right.
fn repaired(data: &[u8]) -> Option<Vec<u8>> {
    let (kind, fields) = data.split_first()?;
    let request = world().state.request(&world().params).expect("a request").to_bytes();
    let plan = &request[HEADER..HEADER + 16];
    // Plans are read by themselves, and would have this one's identity.
    let kind = [1, 2, 3, 4, 5, 7, 8][usize::from(*kind) % 7];
    let mut bytes = [&b"he-psi"[..], &[kind, 1], plan, fields].concat();
    let sum = blake3::hash(&bytes);
    bytes.extend(&sum.as_bytes()[..CHECKSUM]);
    Some(bytes)
}

pub fn run(data: &[u8]) {
    read(data);
    if let Some(repaired) = repaired(data) {
        read(&repaired);
    }
}

fn read(bytes: &[u8]) {
    let World { params, ring, server, state, response } = world();
    let _ = Params::from_bytes(bytes);
    if let Ok(request) = Request::from_bytes(params, bytes) {
        assert_eq!(request.to_bytes(), bytes);
        let _ = server.respond(&request);
    }
    if let Ok(response) = Response::from_bytes(params, bytes) {
        assert_eq!(response.to_bytes(), bytes);
        let _ = state.query(params, ring, &response, &mut rng());
    }
    if let Ok(query) = Query::from_bytes(params, ring, bytes) {
        let _ = server.answer(query);
    }
    if let Ok(answer) = Answer::from_bytes(params, ring, bytes) {
        let _ = state.read(params, ring, response, &answer);
    }
    if let Ok(set) = Server::from_bytes(params, ring, bytes, &mut rng()) {
        assert_eq!(&set.to_bytes()[..], bytes);
    }
    if let Ok(prepared) = PreparedSet::from_bytes(params, ring, bytes)
        && let Ok(query) = state.query(params, ring, response, &mut rng())
    {
        let _ = prepared.answer(query);
    }
    if let Ok(state) = ClientState::from_bytes(params, bytes) {
        assert_eq!(&state.to_bytes(params)[..], bytes);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let World { params, ring, server, state, response } = world();
    let bytes = |query: Query<Device>| query.to_bytes(params).expect("bytes");
    let query = || state.query(params, ring, response, &mut rng()).expect("a query");
    let answer = server.answer(query()).expect("an answer").to_bytes(params).expect("bytes");
    let objects = [
        state.request(params).expect("a request").to_bytes(),
        response.to_bytes(),
        bytes(query()),
        answer,
        server.to_bytes().to_vec(),
        state.to_bytes(params).to_vec(),
        server.prepared_bytes(),
    ];
    // A kind and fields, which get a header and a checksum again.
    let fields =
        |(kind, bytes): (u8, &Vec<u8>)| [&[kind], &bytes[HEADER + 16..bytes.len() - CHECKSUM]].concat();
    (0..).zip(&objects).map(fields).chain(objects.iter().cloned()).collect()
}
