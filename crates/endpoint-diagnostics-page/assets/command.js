// Commands for a terminal.

/** A word for a POSIX shell: as it is if that is safe, else quoted. */
export const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) && !word.startsWith("-") ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The commands about a Service, with what each is for. */
export function commands(namespace, name) {
  const [of, it] = [quoted(namespace), quoted(name)];
  const slices = quoted(`kubernetes.io/service-name=${name}`);
  return [
    { what: "explain it", text: `kubectl endpoints explain ${it} -n ${of}` },
    { what: "its slices", text: `kubectl get endpointslices -n ${of} -l ${slices} -o yaml` },
    { what: "its events", text: `kubectl events -n ${of} --for ${quoted(`service/${name}`)}` },
  ];
}
