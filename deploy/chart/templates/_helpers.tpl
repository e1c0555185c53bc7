{{- define "name" -}}
endpoint-controller-manager
{{- end }}

{{- define "labels" -}}
app.kubernetes.io/name: {{ include "name" . }}
{{- end }}

{{- /* The subject of bindings. */}}
{{- define "subjects" -}}
- kind: ServiceAccount
  name: {{ include "name" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
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
