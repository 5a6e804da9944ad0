#!/bin/sh
# Make the topic `readings` and put a hundred readings into it: ten sensors, one reading each second.
set -eu
bin=/opt/kafka/bin
"$bin/kafka-topics.sh" --bootstrap-server kafka:9092 --create --if-not-exists --topic readings --partitions 4
i=0
while [ "$i" -lt 100 ]; do
  printf 'sensor-%d:{"sensor": "sensor-%d", "value": %d.5}\n' $((i % 10)) $((i % 10)) $((15 + i * 7 % 20))
  i=$((i + 1))
done | "$bin/kafka-console-producer.sh" --bootstrap-server kafka:9092 --topic readings \
  --property parse.key=true --property key.separator=:
