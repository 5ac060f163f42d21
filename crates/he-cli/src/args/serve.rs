//! The options of `serve`.

use clap::{Args, Subcommand};
use he_server::settings::Settings;
use he_server::tenants::Change;
use std::path::PathBuf;

/// `serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
// The option of all commands, here with a variable and a key of the file, is passed on as well.
#[command(mut_arg("threads", |threads| threads.global(true)))]
pub struct Serve {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// The commands beside the service.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Make, list and revoke the tokens of tenants, whether the service runs or not
    #[command(after_help = "Examples:\n  \
        he-cli serve token add alice --label laptop --expires 90 --data /var/lib/he-server\n  \
        he-cli serve token list --data /var/lib/he-server\n  \
        he-cli serve token revoke ID --data /var/lib/he-server")]
    Token(Token),
    /// List, make, change and remove tenants, whether the service runs or not
    #[command(after_help = "Examples:\n  \
        he-cli serve tenant list --data /var/lib/he-server\n  \
        he-cli serve tenant set alice --mib 1000 --jobs default --data /var/lib/he-server\n  \
        he-cli serve tenant remove alice --force --data /var/lib/he-server")]
    Tenant(Tenant),
}

/// `serve token`.
#[derive(Debug, Args)]
pub struct Token {
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// The commands on tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and the tenant if there is none of this name
    Add {
        /// Name of the tenant
        tenant: String,
        /// Purpose of the token
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Days after which the token ends [default: never]
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
        expires: Option<u32>,
        /// Make the folder and the database if there are none
        #[arg(long)]
        create: bool,
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// List the tokens: identity, tenant, label, when each was made, used last, and ends
    List {
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// Revoke a token
    Revoke {
        /// Its identity, from list
        id: String,
        #[command(flatten)]
        flags: ServeFlags,
    },
}

/// `serve tenant`.
#[derive(Debug, Args)]
pub struct Tenant {
    #[command(subcommand)]
    pub command: TenantCommand,
}

/// The commands on tenants.
#[derive(Debug, Subcommand)]
pub enum TenantCommand {
    /// List the tenants: name, what each holds and may hold, and how many tokens it has
    List {
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// Show one tenant
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// Make a tenant without a token
    Add {
        /// Its name
        name: String,
        #[command(flatten)]
        quotas: Quotas,
        /// Make the folder and the database if there are none
        #[arg(long)]
        create: bool,
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// Change the quotas or the name of a tenant, in force at once
    Set {
        /// Its name
        name: String,
        #[command(flatten)]
        quotas: Quotas,
        /// Its new name
        #[arg(long, value_name = "NAME")]
        rename: Option<String>,
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// Remove a tenant: its tokens at once, its jobs and objects within minutes
    Remove {
        /// Its name
        name: String,
        /// Remove it although it holds objects
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        flags: ServeFlags,
    },
}

/// Quotas of a tenant; one that is not given stays as it is.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Quotas {
    /// MiB that it may store, or default: as the settings of the service say
    #[arg(long, value_name = "MIB|default", value_parser = change)]
    pub mib: Option<Change>,
    /// Objects and key sets that it may hold, or default
    #[arg(long, value_name = "N|default", value_parser = change)]
    pub objects: Option<Change>,
    /// Jobs that may be queued or running, or default
    #[arg(long, value_name = "N|default", value_parser = change)]
    pub jobs: Option<Change>,
}

fn change(text: &str) -> Result<Change, String> {
    match text {
        "default" => Ok(Change::Follow),
        _ => text.parse().map(Change::To).map_err(|_| "a number, or default".to_owned()),
    }
}

/// The options of the settings, each of which a file and the environment may give as well.
macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $value:literal, $variable:literal $(, $between:literal)?;)*) => {
        /// The settings, each of which a file and the environment may give as well.
        #[derive(Clone, Debug, Args)]
        pub struct ServeFlags {
            /// File of settings in TOML, whose keys are the names of these options
            ///
            /// An option counts more than its environment variable, and that more than the file.
            #[arg(long, value_name = "FILE", env = "HE_SERVE_CONFIG")]
            pub config: Option<PathBuf>,
            $(
                $(#[$doc])*
                #[arg(long, value_name = $value, env = $variable $(, value_delimiter = $between)?)]
                pub $name: Option<$type>,
            )*
        }

        impl From<ServeFlags> for Settings {
            fn from(flags: ServeFlags) -> Self {
                Self { $($name: flags.$name,)* }
            }
        }
    };
}

he_server::with_settings!(flags);
