{{- define "punctual.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 50 characters, so that "-nodes" and the number of a Pod fit into a name of 63. */}}
{{- define "punctual.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "punctual.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "punctual.headless" -}}
{{- include "punctual.fullname" . }}-nodes
{{- end -}}

{{- define "punctual.selectorLabels" -}}
app.kubernetes.io/name: {{ include "punctual.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "punctual.labels" -}}
{{ include "punctual.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "punctual.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "punctual.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "punctual.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "punctual.isShared" -}}
{{- if eq .Values.store.kind "shared" }}true{{ end -}}
{{- end -}}

{{- define "punctual.replicas" -}}
{{- if kindIs "invalid" .Values.replicaCount -}}
{{- if include "punctual.isShared" . }}3{{ else }}1{{ end -}}
{{- else -}}
{{- .Values.replicaCount | int -}}
{{- end -}}
{{- end -}}

{{/* The command that makes the Secret, for bash or zsh. Its values come from files, so none is on a command line. */}}
{{- define "punctual.secretCommand" -}}
{{- $keys := .Values.secretKeys -}}
kubectl create secret generic {{ default (include "punctual.fullname" .) .Values.existingSecret }} --namespace {{ .Release.Namespace }} \
  --from-file={{ $keys.adminKey }}=<(openssl rand -hex 32)
{{- if include "punctual.isShared" . }} \
  --from-file={{ $keys.clusterSecret }}=<(openssl rand -hex 32) \
  --from-file={{ $keys.secretKey }}=<(openssl rand -hex 32) \
  --from-file={{ $keys.storeUrl }}=store-url.txt
{{- end }}
{{- if .Values.broker.enabled }} \
  --from-file={{ $keys.brokerUrl }}=broker-url.txt
{{- end }}
{{- end -}}

{{/* Values that contradict each other are refused here, in words. The schema has checked each of them before. */}}
{{- define "punctual.validate" -}}
{{- $replicas := include "punctual.replicas" . | int -}}
{{- $isShared := include "punctual.isShared" . -}}
{{- if and (not $isShared) (gt $replicas 1) -}}
{{- fail (printf "replicaCount is %d, but SQLite is a file for one node. Set replicaCount to 1, or store.kind to shared with the URL of a database in existingSecret." $replicas) -}}
{{- end -}}
{{- if and $isShared (not .Values.existingSecret) -}}
{{- fail (printf "store.kind is shared, and existingSecret is empty. Write the URL of the database into store-url.txt, create a Secret, and name it in existingSecret:\n%s" (include "punctual.secretCommand" .)) -}}
{{- end -}}
{{- if and .Values.broker.enabled (not .Values.existingSecret) -}}
{{- fail "broker.enabled is true, and existingSecret is empty. The URL of the broker is in a Secret: create one, and name it in existingSecret." -}}
{{- end -}}
{{- with get .Values.settings "TIMER_SHARDS" -}}
{{- if gt $replicas (. | int) -}}
{{- fail (printf "replicaCount is %d, and TIMER_SHARDS is %v. A node without a shard is never ready: run at most as many nodes as there are shards." $replicas .) -}}
{{- end -}}
{{- end -}}
{{- $secrets := list "TIMER_STORE_URL" "TIMER_BROKER_URL" "TIMER_CLUSTER_SECRET" "TIMER_SECRET_KEY" -}}
{{- $own := list "TIMER_DB_PATH" "TIMER_STORE_URL_FILE" "TIMER_BROKER_URL_FILE" "TIMER_CLUSTER_SECRET_FILE" "TIMER_SECRET_KEY_FILE" "TIMER_ADMIN_KEY_FILE" "TIMER_NODE_NAME" "TIMER_NODE_ADDRESS" "TIMER_HTTP_HOST" "TIMER_HTTP_PORT" "TIMER_EGRESS" "TIMER_DRAIN_TIMEOUT" "TIMER_METRICS" "TIMER_TLS_CERT_FILE" "TIMER_TLS_KEY_FILE" "TIMER_TLS_CA_FILE" -}}
{{- range $name, $value := .Values.settings -}}
{{- if has $name $secrets -}}
{{- fail (printf "settings.%s is a secret. Put it into a Secret, and name the Secret in existingSecret." $name) -}}
{{- end -}}
{{- if has $name $own -}}
{{- fail (printf "settings.%s: the chart sets %s itself. Use the value of the chart for it (see values.yaml)." $name $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.open) (not .Values.metrics.existingSecret) -}}
{{- fail "metrics.serviceMonitor.enabled is true, but Prometheus has no key for /metrics. Set metrics.open to true, or name a Secret with a key in metrics.existingSecret." -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.enabled is true, and ingress.hosts is empty. Name at least one host." -}}
{{- end -}}
{{- if and .Values.gateway.enabled (not .Values.gateway.parentRefs) -}}
{{- fail "gateway.enabled is true, and gateway.parentRefs is empty. Name the Gateway that the route belongs to." -}}
{{- end -}}
{{- end -}}

{{/* What is public. /metrics, /health and /internal, on which nodes call each other, are not. */}}
{{- define "punctual.publicPaths" -}}
- { path: /, exact: true }
- { path: /api, exact: false }
- { path: /console, exact: false }
- { path: /docs, exact: false }
- { path: /openapi.json, exact: true }
{{- end -}}
