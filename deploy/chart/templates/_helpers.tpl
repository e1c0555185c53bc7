{{- define "name" -}}
endpoint-controller-manager
{{- end }}

{{- define "labels" -}}
app.kubernetes.io/name: {{ include "name" . }}
{{- end }}

{{- /* The page's pods are not those of the controllers, which other objects select. */}}
{{- define "page.label" -}}
app.kubernetes.io/name: {{ include "name" . }}-page
{{- end }}

{{- /* The subject of bindings. */}}
{{- define "subjects" -}}
- kind: ServiceAccount
  name: {{ include "name" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "image" -}}
{{- $repository := required "image.repository is required: no image is published. deploy/README.md says how to build one" .Values.image.repository }}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* How Prometheus verifies the serving certificate. */}}
{{- define "tlsConfig" -}}
{{- with .Values.servingCertificate.secretName -}}
serverName: {{ include "name" $ }}.{{ $.Release.Namespace }}.svc
ca:
  secret:
    name: {{ . }}
    key: ca.crt
{{- else -}}
insecureSkipVerify: true
{{- end }}
{{- end }}

{{- /* Both pages of a pod, as monitors scrape them: with the token of an account that may read the metrics and nothing else. */}}
{{- define "metricsEndpoints" -}}
{{- range $path, $interval := dict "/metrics" "" "/metrics/slis" "5s" }}
- port: https
  scheme: https
  path: {{ $path }}
  # The two paths would otherwise give `up` of a replica the same labels.
  relabelings:
  - sourceLabels: [__metrics_path__]
    targetLabel: metrics_path
  {{- with $interval }}
  interval: {{ . }}
  {{- end }}
  authorization:
    credentials:
      name: {{ include "name" $ }}-metrics-reader
      key: token
  tlsConfig:
    {{- include "tlsConfig" $ | nindent 4 }}
{{- end }}
{{- end }}

{{- /* Flags that decide what the controllers do, for the Deployment and for the checks. */}}
{{- define "sharedArgs" -}}
{{- $args := list }}
{{- if lt (len .Values.controllers) 3 }}
{{- $args = append $args (printf "--controllers=%s" (join "," .Values.controllers)) }}
{{- end }}
{{- with .Values.featureGates }}
{{- $gates := list }}
{{- range $gate, $on := . }}
{{- $gates = append $gates (printf "%s=%t" $gate $on) }}
{{- end }}
{{- $args = append $args (printf "--feature-gates=%s" (join "," $gates)) }}
{{- end }}
{{- if .Values.serviceAccountCredentials.enabled }}
{{- $args = append $args "--use-service-account-credentials=true" }}
{{- end }}
{{- with concat $args .Values.extraArgs }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- define "podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "securityContext" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Everything of the checks exists only while they run: helm also deletes the account and its permissions when the Job
failed. The Job itself stays then, for its log. */}}
{{- define "preflight.hook" -}}
helm.sh/hook: post-install,pre-upgrade
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
