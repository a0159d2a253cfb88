//! The calls about links, which providers written on this SDK have none of: to a host they are
//! older than links. Owns nothing.

/// Methods of the service that answer that they are not there.
macro_rules! without_links {
    ($($method:ident($ask:ty) -> $answer:ty;)*) => {$(
        fn $method<'s, 'f>(
            &'s self,
            _: tonic::Request<$ask>,
        ) -> std::pin::Pin<Box<dyn Future<Output = Answer<$answer>> + Send + 'f>>
        where
            's: 'f,
            Self: 'f,
        {
            Box::pin(async { Err(tonic::Status::unimplemented("this provider has no links")) })
        }
    )*};
}
pub(super) use without_links;
