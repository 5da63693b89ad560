# What the scripts share that pack this program for another machine, in pieces with checksums, and that
# run it there. Before they read this file they set:
#
#   program   the name of the script in messages
#   here      its folder; in a pack that of the pieces

fail() {
  echo "$program: $1" >&2
  exit 2
}

step() {
  printf '%s %s\n' "$(date +%T)" "$1" >&2
}

# Sets the folder of the pack, which has to be empty, and the one where its contents are collected.
# Arguments: the folder, then the tools that pack needs.
begin_pack() {
  out=$1
  shift
  for tool in "$@" jlink mvn zstd sha256sum; do
    command -v "$tool" >/dev/null || fail "there is no $tool on the PATH"
  done
  mkdir -p "$out"
  out=$(cd "$out" && pwd -P)
  [ ! -e "$out/SHA256SUMS" ] && [ ! -e "$out/root" ] || fail "$out: expected an empty folder"
  root=$out/root
  mkdir -p "$root/check"
}

# Collects the program with the jars that it was built with. "put FOLDER JAR" copies a jar.
collect_program() {
  mkdir -p "$root/vertigrad/bin" "$root/vertigrad/lib"
  cp vertigrad "$root/vertigrad/bin/"
  cp launcher/target/vertigrad-launcher-*.jar "$root/vertigrad/lib/"
  cp -r conf "$root/vertigrad/"
  names=
  for jar in $(tr : ' ' <launcher/target/classpath); do
    put "$root/vertigrad/lib" "$jar"
    names=$names:${jar##*/}
  done
  printf %s "${names#:}" >"$root/vertigrad/lib/classpath"
}

# Collects the jars that the program lacks. Arguments: a folder, then jars.
collect_others() {
  folder=$1
  shift
  mkdir -p "$folder"
  for jar in "$@"; do
    case $names: in
      *:"${jar##*/}":*) ;;
      *) put "$folder" "$jar" ;;
    esac
  done
}

# Adds the benchmarks, their peers, and a Java.
collect_check() {
  cp -r benchmarks/target/classes "$root/check/classes"
  cp -r benchmarks/peers "$root/check/"
  rm -rf "$root/check/peers/__pycache__"
  git describe --always --dirty --abbrev=12 >"$root/check/revision"
  jlink --add-modules java.se,jdk.unsupported,jdk.management,jdk.management.agent,jdk.zipfs,jdk.crypto.ec,jdk.httpserver,jdk.jfr,jdk.jcmd,jdk.attach,jdk.net,jdk.naming.dns,jdk.localedata \
    --include-locales en --strip-debug --no-man-pages --no-header-files --output "$root/java"
}

# Compresses what was collected. Arguments: the script that runs it, and the size of a piece.
end_pack() {
  step 'compressing'
  mkdir -p "$out/tools"
  cp "$1" "$clone/benchmarks/pieces.sh" "$out/"
  cp "$(command -v zstd)" "$out/tools/"
  for library in $(ldd "$(command -v zstd)" | sed -n 's/.* => \([^ ]*\) .*/\1/p'); do
    cp -L "$library" "$out/tools/"
  done
  cp -L "$(ldd "$(command -v zstd)" | sed -n 's/^[[:space:]]*\([^ ]*ld-linux[^ ]*\) .*/\1/p')" "$out/tools/loader"
  du -sh --apparent-size "$root" | sed 's/^/unpacked, with holes: /' >&2
  du -sh "$root"/* >&2
  # Holes stay holes, and equal jars are found far apart.
  tar -S -cpf - --sort=name --owner=0 --group=0 -C "$root" . |
    zstd -q -T0 -"${LEVEL:-12}" --long=27 | split -b "$2" -d -a 3 - "$out/piece."
  (cd "$out" && find . -type f ! -path './root/*' ! -name SHA256SUMS | sort | xargs sha256sum >SHA256SUMS)
  step "packed: $(du -ch "$out"/piece.* | tail -n 1 | cut -f 1) in $(ls "$out"/piece.* | wc -l) pieces"
  rm -r "$root"
}

# Removes what a rehearsal has unpacked.
end_rehearsal() {
  rm -r "$out/root" "$out/unpacked"
  step "ready: copy $out without rehearsal, then call run"
}

# Succeeds in a folder of pieces.
packed() {
  [ -f "$here/SHA256SUMS" ]
}

# Joins and unpacks the pieces, once. Their checksums are checked first.
unpack() {
  [ ! -f "$here/unpacked" ] || return 0
  began=$(date +%s)
  (cd "$here" && sha256sum --quiet -c SHA256SUMS) || fail "a piece is damaged or missing: copy it again"
  mkdir -p "$here/root"
  cat "$here"/piece.* |
    "$here/tools/loader" --library-path "$here/tools" "$here/tools/zstd" -q -d --long=27 |
    tar -xSpf - -C "$here/root" || fail "the pieces cannot be unpacked into $here/root"
  # With an archive of its own classes Java starts faster, and can archive those of the program.
  "$here/root/java/bin/java" -Xshare:dump >/dev/null 2>&1 || true
  : >"$here/unpacked"
  echo "unpacked in $(($(date +%s) - began)) s" >&2
}

# Unpacks, and sets where everything is.
use_pack() {
  unpack
  home=$here/root/vertigrad
  check=$here/root/check
  java=$here/root/java/bin/java
  mkdir -p "$here/root/natives"
  export JAVA_HOME="$here/root/java"
  export JAVA_TOOL_OPTIONS="-Dorg.bytedeco.javacpp.cachedir=$here/root/natives"
  classpath=$(sed "s#@#$here/root/#g" "$check/classpath")
  revision=$(cat "$check/revision")
}
