//! Methods that this SDK does not support, such as those about links. Hosts treat "unimplemented"
//! as a provider from before these methods.

/// Implements methods of the service that return "unimplemented", with the reason.
macro_rules! without {
    ($why:literal; $($method:ident($ask:ty) -> $answer:ty;)*) => {$(
        fn $method<'s, 'f>(
            &'s self,
            _: tonic::Request<$ask>,
        ) -> std::pin::Pin<Box<dyn Future<Output = Answer<$answer>> + Send + 'f>>
        where
            's: 'f,
            Self: 'f,
        {
            Box::pin(async { Err(tonic::Status::unimplemented($why)) })
        }
    )*};
}
pub(super) use without;
