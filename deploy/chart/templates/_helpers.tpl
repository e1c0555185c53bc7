{{- define "name" -}}
endpoint-controller-manager
{{- end }}

{{- /* What the pods are called: a comparison runs alongside a release that writes. */}}
{{- define "workload" -}}
{{ include "name" . }}{{ if eq .Values.mode "shadow" }}-shadow{{ end }}
{{- end }}

{{- define "serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "workload" .) }}
{{- end }}

{{- /* Of pods, for selectors: these never change. */}}
{{- define "selectorLabels" -}}
app.kubernetes.io/name: {{ include "workload" . }}
{{- end }}

{{- /* The labels of an object: each once, and of an operator's the more specific one counts. */}}
{{- define "allLabels" -}}
{{- $ := .root }}
{{- $labels := dict
  "app.kubernetes.io/name" .name
  "app.kubernetes.io/instance" $.Release.Name
  "app.kubernetes.io/version" $.Chart.AppVersion
  "app.kubernetes.io/managed-by" $.Release.Service
  "helm.sh/chart" (printf "%s-%s" $.Chart.Name $.Chart.Version)
}}
{{- toYaml (mergeOverwrite $labels ($.Values.commonLabels | default dict) (.more | default dict)) }}
{{- end }}

{{- define "labels" -}}
{{ include "allLabels" (dict "root" . "name" (include "workload" .)) }}
{{- end }}

{{- /* The page's pods are not those of the controllers, which other objects select. */}}
{{- define "page.selectorLabels" -}}
app.kubernetes.io/name: {{ include "workload" . }}-page
{{- end }}

{{- define "page.labels" -}}
{{ include "allLabels" (dict "root" . "name" (printf "%s-page" (include "workload" .))) }}
{{- end }}

{{- /* So are those of pod-network-controller, which has the same name in each release: it is one in a cluster. */}}
{{- define "podNetworks.selectorLabels" -}}
app.kubernetes.io/name: pod-network-controller
{{- end }}

{{- /* The programs that serve metrics; their objects have their names. */}}
{{- define "programs" -}}
{{ include "workload" . }}{{ if .Values.podNetworks.enabled }} pod-network-controller{{ end }}
{{- end }}

{{- define "podNetworks.labels" -}}
{{ include "allLabels" (dict "root" . "name" "pod-network-controller") }}
{{- end }}

{{- /* The controllers that run, in JSON. Helm leaves out a value that is null. */}}
{{- define "controllers" -}}
{{- .Values.controllers | default (list "endpoints-controller" "endpointslice-controller" "endpointslice-mirroring-controller") | toJson }}
{{- end }}

{{- /* The subject of bindings. */}}
{{- define "subjects" -}}
- kind: ServiceAccount
  name: {{ include "serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* The subjects of FlowSchemas. Those of the API server have pod-network-controller's account in kube-system. */}}
{{- define "flowSchemas.subjects" -}}
{{- $accounts := list (include "serviceAccountName" .) }}
{{- if and .Values.podNetworks.enabled (ne .Release.Namespace "kube-system") }}
{{- $accounts = append $accounts "pod-network-controller" }}
{{- end }}
{{- range $accounts }}
- kind: ServiceAccount
  serviceAccount:
    name: {{ . }}
    namespace: {{ $.Release.Namespace }}
{{- end }}
{{- end }}

{{- define "image" -}}
{{- $repository := required "image.repository is required: no image is published. docs/operate/install.md says how to make one and how to load it into the nodes" .Values.image.repository }}
{{- if and (not (regexMatch "^([^/]*[.:][^/]*|localhost)/" $repository)) (ne .Values.image.pullPolicy "Never") }}
{{- fail (printf "image.repository=%s names no registry, so nodes would pull from Docker Hub, where no such image is published: name the registry, or set image.pullPolicy=Never if the image is on the nodes" $repository) }}
{{- end }}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* How Prometheus verifies the serving certificate. */}}
{{- define "tlsConfig" -}}
{{- with .Values.servingCertificate.secretName -}}
serverName: {{ include "workload" $ }}.{{ $.Release.Namespace }}.svc
ca:
  secret:
    name: {{ . }}
    key: ca.crt
{{- else -}}
insecureSkipVerify: true
{{- end }}
{{- end }}

{{- /* Both pages of a program's pod, as monitors scrape them: with the token of an account that may read the metrics and nothing
else. Of a comparison only /metrics, which is open, and without a token, which it may not have reviewed. */}}
{{- define "metricsEndpoints" -}}
{{- $ := .root }}
{{- $program := .program }}
{{- $monitor := .monitor }}
{{- $shadow := eq $.Values.mode "shadow" }}
{{- range $path, $interval := $shadow | ternary (dict "/metrics" $monitor.interval) (dict "/metrics" $monitor.interval "/metrics/slis" "5s") }}
- port: https
  scheme: https
  path: {{ $path }}
  # The two paths would otherwise give `up` of a replica the same labels.
  relabelings:
  - sourceLabels: [__metrics_path__]
    targetLabel: metrics_path
  {{- with $monitor.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with $monitor.metricRelabelings }}
  metricRelabelings:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with $interval }}
  interval: {{ . }}
  {{- end }}
  {{- /* That of the other page must not exceed its 5 s. */}}
  {{- if and $monitor.scrapeTimeout (eq $path "/metrics") }}
  scrapeTimeout: {{ $monitor.scrapeTimeout }}
  {{- end }}
  {{- if not $shadow }}
  authorization:
    credentials:
      name: {{ include "workload" $ }}-metrics-reader
      key: token
  {{- end }}
  tlsConfig:
    {{- if eq $program (include "workload" $) }}
    {{- include "tlsConfig" $ | nindent 4 }}
    {{- else }}
    # Its certificate is self-signed.
    insecureSkipVerify: true
    {{- end }}
{{- end }}
{{- end }}

{{- /* Flags that decide what the controllers do, for the Deployment and for the checks. */}}
{{- define "sharedArgs" -}}
{{- $args := list }}
{{- if .Values.config }}
{{- $args = append $args "--config=/etc/endpoint-controller-manager/config/config.yaml" }}
{{- end }}
{{- $controllers := fromJsonArray (include "controllers" .) }}
{{- if lt (len $controllers) 3 }}
{{- $args = append $args (printf "--controllers=%s" (join "," $controllers)) }}
{{- end }}
{{- with .Values.featureGates }}
{{- $gates := list }}
{{- range $gate, $on := . }}
{{- $gates = append $gates (printf "%s=%t" $gate $on) }}
{{- end }}
{{- $args = append $args (printf "--feature-gates=%s" (join "," $gates)) }}
{{- end }}
{{- if and .Values.serviceAccountCredentials.enabled (eq .Values.mode "run") }}
{{- $args = append $args "--use-service-account-credentials=true" }}
{{- end }}
{{- with concat $args (.Values.extraArgs | default list) }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- /* The same for commands of the operator's, which have no files of the pods. */}}
{{- define "commandFlags" -}}
{{- range fromYamlArray (include "sharedArgs" .) }}
{{- if not (regexMatch "^--(config|kubeconfig|master)(=|$)" .) }} {{ if regexMatch "[^A-Za-z0-9_.,:/=@%+-]" . }}'{{ replace "'" "'\\''" . }}'{{ else }}{{ . }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Fields of both pods. */}}
{{- define "pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
automountServiceAccountToken: true
dnsPolicy: {{ .Values.dnsPolicy }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.podSpec }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The value of --config. The ConfigMap is a parameter, because the checks run before an upgrade has written the other one. */}}
{{- define "configVolume" -}}
{{- if .root.Values.config }}
- name: config
  configMap:
    name: {{ .configMap }}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{- define "configMount" -}}
{{- if .Values.config }}
- name: config
  mountPath: /etc/endpoint-controller-manager/config
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{- define "configFile" -}}
config.yaml: |
  {{- toYaml (merge (dict "apiVersion" "kubecontrollermanager.config.k8s.io/v1alpha1" "kind" "KubeControllerManagerConfiguration") .Values.config) | nindent 2 }}
{{- end }}

{{- /* Fields of both containers. */}}
{{- define "container" -}}
image: {{ include "image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- with .Values.extraEnv }}
env:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* docs/operate/sizing.md: each figure and a quarter, in MiB. */}}
{{- define "resources" -}}
{{- with .Values.resources }}
{{- toYaml . }}
{{- else }}
{{- $pods := int .Values.pods -}}
requests:
  cpu: {{ max 50 (div $pods 2000) }}m
  memory: {{ max 64 (add 30 (div $pods 1200)) }}Mi
{{- end }}
{{- end }}

{{- define "preflightResources" -}}
{{- with .Values.preflight.resources }}
{{- toYaml . }}
{{- else -}}
requests:
  cpu: 100m
  memory: {{ max 64 (add 30 (div (int .Values.pods) 600)) }}Mi
{{- end }}
{{- end }}

{{- /* The page keeps what it shows of each object. */}}
{{- define "page.resources" -}}
{{- with .Values.page.resources }}
{{- toYaml . }}
{{- else -}}
requests:
  cpu: 50m
  memory: {{ max 64 (add 60 (div (int .Values.pods) 78)) }}Mi
{{- end }}
{{- end }}

{{- /* Of objects that have no others. */}}
{{- define "commonLabels" -}}
{{- with .Values.commonLabels }}
labels:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Everything of the checks exists only while they run: helm also deletes the account and its permissions when the Job
failed. The Job itself stays then, for its log. */}}
{{- define "preflight.hook" -}}
helm.sh/hook: post-install,pre-upgrade
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
