//! Calls for what providers written on this SDK have none of, such as links: to a host they are
//! older than these. Owns nothing.

/// Methods of the service that answer that they are not there.
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
