//! The macro that defines errors.

/// Defines an enum of errors: the fields of each variant, its message and, where there is something
/// to do about it, its hint, both as arguments of `format!`; a hint in brackets is an expression of
/// type `Option<String>`. A variant whose cause is in its field `source` ends in `from source`.
///
/// Variants that stand for the error of another module come behind them, under `wrapping`, with
/// that error's message and hint.
///
/// The enum has the methods `message` and `hint`; its text is both, parted by a semicolon.
macro_rules! errors {
    (
        $(#[$attr:meta])*
        pub enum $name:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty),+ $(,)? })?:
                    $message:tt $(, $hint:tt)? $(from $source:ident)?;
            )+
        }
        $(wrapping {
            $(
                $(#[$inner_doc:meta])*
                $wrapper:ident($inner:ident: $inner_type:ty): $inner_message:expr, $inner_hint:expr;
            )+
        })?
    ) => {
        $(#[$attr])*
        pub enum $name {
            $(
                $(#[$doc])*
                $variant $({ $($(#[$field_doc])* $field: $type),+ })?,
            )+
            $($(
                $(#[$inner_doc])*
                $wrapper($inner_type),
            )+)?
        }

        impl $name {
            /// States the fault, without the remedy.
            #[allow(unused_variables)]
            pub fn message(&self) -> String {
                match self {
                    $(Self::$variant $({ $($field),+ })? => format! $message,)+
                    $($(Self::$wrapper($inner) => $inner_message,)+)?
                }
            }

            /// States the remedy, where there is one.
            #[allow(unused_variables)]
            pub fn hint(&self) -> Option<String> {
                match self {
                    $(Self::$variant $({ $($field),+ })? => $crate::error::errors!(@hint $($hint)?),)+
                    $($(Self::$wrapper($inner) => $inner_hint,)+)?
                }
            }
        }

        impl std::fmt::Display for $name {
            /// The message and the hint.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.message())?;
                self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
            }
        }

        impl std::error::Error for $name {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                match self {
                    $(Self::$variant { $($source,)? .. } => $crate::error::errors!(@source $($source)?),)+
                    $($(Self::$wrapper($inner) => std::error::Error::source($inner),)+)?
                }
            }
        }

        $($(
            impl From<$inner_type> for $name {
                fn from(error: $inner_type) -> Self {
                    Self::$wrapper(error)
                }
            }
        )+)?
    };
    (@hint) => { None };
    (@hint [$hint:expr]) => { $hint };
    (@hint $hint:tt) => { Some(format! $hint) };
    (@source) => { None };
    (@source $source:ident) => { Some(&**$source) };
}
pub(crate) use errors;
