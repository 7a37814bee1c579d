//! Asks progenitor for a client, which it refuses to write from a document of OpenAPI 3.1.
progenitor_macro::generate_api!("openapi.json");

fn main() {}
