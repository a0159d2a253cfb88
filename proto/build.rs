//! Compiles the `.proto` files of this folder without any outside compiler.

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
    // `bytes::Bytes`: a value of several megabytes (a schema, a state) is a slice of the receive
    // buffer, not a copy.
    tonic_prost_build::configure()
        .build_client(true)
        .build_server(true)
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
