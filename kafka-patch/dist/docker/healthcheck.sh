#!/usr/bin/env bash
# Health of the node of this container: asks its first listener for the versions of its requests, as each client does first, and takes
# an answer for health. A node answers once it has caught up with the metadata; one that is stuck does not answer, though its port is open. With
# TLS only the port is tried. No Java: it costs some milliseconds.
set -euo pipefail
settings=${RACKSPAN_SETTINGS:-/tmp/kafka}/server.properties
if [ ! -r "$settings" ]; then
  echo "no settings in $settings: the node has not started" >&2
  exit 1
fi

# value KEY: the last value of the setting.
value() { sed -n "s/^[[:space:]]*${1//./\\.}[[:space:]]*[=:][[:space:]]*//p" "$settings" | tail -n 1 | tr -d ' '; }

listener=$(value listeners)
listener=${listener:-PLAINTEXT://:9092}
listener=${listener%%,*}
name=${listener%%://*} port=${listener##*:} host=${listener#*://}
host=${host%:*} host=${host#[} host=${host%]}
case $host in '' | 0.0.0.0 | ::) host=localhost ;; esac
protocol=$name
case ,$(value listener.security.protocol.map), in *",$name:"*SSL,*) protocol=SSL ;; esac
if ! { exec 3<> "/dev/tcp/$host/$port"; } 2> /dev/null; then
  echo "nothing listens on $host:$port ($name)" >&2
  exit 1
fi
if [[ $protocol == *SSL ]]; then exit 0; fi
# Size 10, request 18 (ApiVersions), version 0, correlation 7, no client id. The answer: size, correlation 7, error 0.
printf '\0\0\0\x0a\0\x12\0\0\0\0\0\x07\xff\xff' >&3
answer=$(timeout 4 head -c 10 <&3 | od -An -tx1 | tr -d ' \n') || true
if [[ $answer != ????????000000070000 ]]; then
  echo "$host:$port ($name) does not answer a request for its versions: '$answer'" >&2
  exit 1
fi
