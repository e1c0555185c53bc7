# until.sh TEXT...: waits until the slices of the Service web, as kubectl get prints them, hold a text; `none` means no slice.
for _ in $(seq 2000); do
  slices=$(kubectl get endpointslices -l kubernetes.io/service-name=web --no-headers -o wide 2>/dev/null)
  case "${slices:-none}" in *"$1"*) exit ;; esac
  sleep 0.05
done
echo "no $1 in: $slices"
exit 1
