//! The examples, which assert their own results. They run here as they do by `cargo run --example`.

macro_rules! examples {
    ($($name:ident: $path:literal),* $(,)?) => {$(
        #[path = $path]
        mod $name;

        #[test]
        fn $name() {
            $name::main().unwrap();
        }
    )*};
}

examples! {
    aes_stream: "../../examples/aes_stream.rs",
    auction: "../../examples/auction.rs",
    client_server: "../../examples/client_server.rs",
    covariance: "../../examples/covariance.rs",
    gpu_batch: "../../examples/gpu_batch.rs",
    image_filter: "../../examples/image_filter.rs",
    interest: "../../examples/interest.rs",
    intersection: "../../examples/intersection.rs",
    logistic_regression: "../../examples/logistic_regression.rs",
    lookup: "../../examples/lookup.rs",
    matrix: "../../examples/matrix.rs",
    parties: "../../examples/parties.rs",
    password: "../../examples/password.rs",
    search: "../../examples/search.rs",
    statistics: "../../examples/statistics.rs",
    vote: "../../examples/vote.rs",
}
