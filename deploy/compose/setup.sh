#!/bin/sh
# Makes the secrets of compose.cluster.yaml, and chooses what runs beside the nodes.
#
#   sh setup.sh                                  PostgreSQL and NATS
#   sh setup.sh mysql kafka monitoring agent     others
#
# Run it again to choose others. It keeps the passwords and keys that exist.
set -eu
cd "$(dirname "$0")"

fail() {
  echo "setup.sh: $1" >&2
  exit 2
}

store=
broker=
others=
for profile in "$@"; do
  case $profile in
  postgres | mysql | mariadb | mongodb | cassandra | dynamodb)
    [ -z "$store" ] || fail "choose one store: $store or $profile"
    store=$profile
    ;;
  nats | rabbitmq | kafka)
    [ -z "$broker" ] || fail "choose one broker: $broker or $profile"
    broker=$profile
    ;;
  monitoring | agent) others=$others,$profile ;;
  *) fail "there is no profile $profile. Stores: postgres, mysql, mariadb, mongodb, cassandra, dynamodb. Brokers: nats, rabbitmq, kafka. Others: monitoring, agent" ;;
  esac
done
store=${store:-postgres}
broker=${broker:-nats}

# Only the owner can enter the folder. The files in it are mounted into containers with users of their own, so everyone
# may read them.
mkdir -p secrets
chmod 700 secrets
umask 022

random() {
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# A name once made is kept: the stores know their passwords, and secrets in them are sealed with these keys.
once() {
  [ -s "secrets/$1" ] || random >"secrets/$1"
}

for name in admin-key cluster-secret secret-key agent-secret-key store-password broker-password; do once $name; done
password=$(cat secrets/store-password)
broker_password=$(cat secrets/broker-password)

agent_store=sqlite:/data/agent.db
case $store in
postgres)
  url=postgres://punctual:$password@postgres:5432/timers
  agent_store="$url?schema=agent"
  ;;
mysql) url=mysql://punctual:$password@mysql:3306/timers ;;
mariadb) url=mariadb://punctual:$password@mariadb:3306/timers ;;
mongodb) url="mongodb://punctual:$password@mongodb:27017/timers?authSource=admin" ;;
cassandra) url="cassandra://cassandra:9042/punctual?replication=1" ;;
# DynamoDB Local takes any key. It is no secret.
dynamodb) url="dynamodb://local:local@eu-central-1/punctual?endpoint=http://dynamodb:8000" ;;
esac
case $broker in
nats) broker_url=nats://punctual:$broker_password@nats:4222 ;;
rabbitmq) broker_url=amqp://punctual:$broker_password@rabbitmq:5672 ;;
kafka) broker_url=kafka://kafka:9092 ;;
esac

# printf is a part of the shell, so no password is on a command line.
printf '%s\n' "$url" >secrets/store-url
printf '%s\n' "$agent_store" >secrets/agent-store-url
printf '%s\n' "$broker_url" >secrets/broker-url
printf 'authorization { user: punctual, password: "%s" }\n' "$broker_password" >secrets/nats-users
printf 'default_user = punctual\ndefault_pass = %s\n' "$broker_password" >secrets/rabbitmq-users
printf '# setup.sh writes this file. Docker Compose reads it.\nCOMPOSE_PROFILES=%s\n' "$store,$broker$others" >.env
echo "The secrets are in $(pwd)/secrets. Start: docker compose -f compose.cluster.yaml up --detach --wait"
