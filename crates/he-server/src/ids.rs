//! Random names, and what is kept of tokens.

use rand::TryRng;
use rand::rngs::SysRng;

/// The beginning of every token, by which scanners of leaked secrets know one.
const PREFIX: &str = "he_";

/// So many random bytes in hexadecimal.
fn random<const N: usize>() -> std::io::Result<String> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The name of an object, a job or a tenant: 128 random bits.
///
/// # Errors
/// The operating system gives no random bytes.
pub fn id() -> std::io::Result<String> {
    random::<16>()
}

/// Whether this may be a name of [`id`]: nothing else reaches the database or a store.
pub fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A token: 256 random bits.
///
/// # Errors
/// The operating system gives no random bytes.
pub fn token() -> std::io::Result<String> {
    Ok(format!("{PREFIX}{}", random::<32>()?))
}

/// The hash under which a token is kept. The token cannot be guessed, so a plain hash hides it.
pub fn token_hash(token: &str) -> String {
    let key = blake3::derive_key("he-server 2026 tokens of tenants", token.as_bytes());
    blake3::Hash::from_bytes(key).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unlike_and_known() {
        let (a, b) = (id().unwrap(), id().unwrap());
        assert!(is_id(&a) && is_id(&b) && a != b);
        for other in
            ["", "../../etc/passwd", &a[1..], &a.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")]
        {
            assert!(!is_id(other), "{other}");
        }
        let token = token().unwrap();
        assert_eq!((token.len(), token.starts_with("he_")), (67, true));
        assert_ne!(token_hash(&token), token_hash(&super::token().unwrap()));
        assert!(!token_hash(&token).contains(&token[3..]));
    }
}
