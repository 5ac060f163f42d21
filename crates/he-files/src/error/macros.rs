//! The macro that defines errors.

/// Defines an enum of errors: the fields of each variant, its message and, where there is something
/// to do about it, its hint. `[request]` marks what is wrong with what was asked for, rather than
/// with a file or a device.
macro_rules! errors {
    (
        $(#[$attr:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $([$kind:ident])? $variant:ident $({ $($field:ident: $type:ty),+ $(,)? })?:
                $message:tt $(, $hint:tt)?;)+
        }
    ) => {
        $(#[$attr])*
        #[derive(Clone, Debug, PartialEq, thiserror::Error)]
        #[non_exhaustive]
        pub enum $name {
            $(
                $(#[$doc])*
                #[error $message]
                $variant $({
                    $(#[doc = concat!("`", stringify!($field), "` of the message or the hint.")] $field: $type,)+
                })?,
            )+
        }

        impl $name {
            /// The advice on this error, if there is any.
            #[allow(unused_variables)]
            pub fn hint(&self) -> Option<String> {
                match self {
                    $(Self::$variant $({ $($field),+ })? => errors!(@hint $($hint)?),)+
                }
            }

            /// Whether it is what was asked for that is wrong.
            pub fn is_request(&self) -> bool {
                match self {
                    $(Self::$variant $({ $($field: _),+ })? => errors!(@request $($kind)?),)+
                }
            }
        }
    };
    (@hint) => { None };
    (@hint $hint:tt) => { Some(format! $hint) };
    (@request) => { false };
    (@request request) => { true };
}
pub(crate) use errors;
