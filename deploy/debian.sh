#!/usr/bin/env bash
# Makes a Debian package of a built he-cli: the program, its manual pages and completions, the
# licences, the bill of materials if there is one.
#
#   deploy/debian.sh PROGRAM [FOLDER]       target/x86_64-unknown-linux-musl/dist/he-cli, for example
#
# A program that is linked statically (target *-musl) runs on any Debian; another one needs the libc
# that it was built with. Needs dpkg-deb, and runs the program. The same program and commit give the
# same bytes.
set -euo pipefail
program=$(realpath "$1")
out=$(realpath -m "${2:-.}")
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

version=$("$program" --version | awk '{print $2}')
case $(od -An -tx2 -j18 -N2 "$program" | tr -d ' ') in
003e) architecture=amd64 ;;
00b7) architecture=arm64 ;;
*) echo "debian.sh: $program is for neither x86-64 nor 64-bit Arm" >&2 && exit 1 ;;
esac

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
install -D -m 755 "$program" "$root/usr/bin/he-cli"
"$program" man -o "$root/usr/share/man/man1" >/dev/null
gzip -9n "$root"/usr/share/man/man1/*
mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
"$program" completions bash >"$root/usr/share/bash-completion/completions/he-cli"
"$program" completions zsh >"$root/usr/share/zsh/vendor-completions/_he-cli"
"$program" completions fish >"$root/usr/share/fish/vendor_completions.d/he-cli.fish"
install -D -m 644 -t "$root/usr/share/doc/he-cli" LICENSE-APACHE LICENSE-MIT CHANGELOG.md
[ ! -f he-cli.cdx.json ] || install -m 644 he-cli.cdx.json "$root/usr/share/doc/he-cli"
find "$root" -type f -not -path '*/bin/*' -exec chmod 644 {} +
find "$root" -type d -exec chmod 755 {} +

# A static program needs nothing.
depends=$(ldd "$program" 2>/dev/null | grep -q 'libc\.so' && echo "Depends: libc6, libgcc-s1" || true)
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: he-cli
Version: $version
Architecture: $architecture
Maintainer: $(git log -1 --format='%an <%ae>')
Installed-Size: $(du -sk --apparent-size "$root" | cut -f1)
${depends:+$depends
}Section: utils
Priority: optional
Description: computing on encrypted images, tables and networks
 Encrypts images, tables and any other file, computes on them while they stay
 encrypted (CKKS, BFV, BGV, TFHE), and decrypts the results.
END
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$out"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out/he-cli_${version}_$architecture.deb"
