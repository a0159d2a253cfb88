//! Compiles the `.proto` files of this directory with a compiler in Rust, so that no `protoc` is
//! needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = [
        "tfplugin5.proto",
        "tfplugin6.proto",
        "plugin.proto",
        "health.proto",
        "bluelink/schema.proto",
        "bluelink/sharedtypes.proto",
        "bluelink/pluginservice.proto",
        "bluelink/provider.proto",
        "bluelink/transformer.proto",
    ];
    for file in files {
        println!("cargo::rerun-if-changed={file}");
    }
    let descriptors = protox::compile(files, ["."])?;
    // `bytes::Bytes`: values of several megabytes (a schema, a state) are slices of the receive
    // buffer, not copies.
    tonic_prost_build::configure()
        .build_client(true)
        .build_server(true)
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
