// Commands for a terminal.

const isSafe = (word) => /^[\w@%+=:,./-]+$/.test(word);
const inQuotes = (word) => `'${word.replaceAll("'", `'\\''`)}'`;

/** A word for a POSIX shell that is not a flag: as it is if that is safe, else quoted. */
export const quoted = (word) => (isSafe(word) && !word.startsWith("-") ? word : inQuotes(word));

/** The commands about a Service, with what each is for. `flags` are those of the cluster, or `-f` and the files that are shown. */
export function commands(namespace, name, flags = []) {
  const [of, it] = [quoted(namespace), quoted(name)];
  const more = flags.map((flag) => ` ${isSafe(flag) ? flag : inQuotes(flag)}`).join("");
  const explain = { what: "explain it", text: `kubectl endpoints explain ${it} -n ${of}${more}` };
  if (flags.includes("-f")) return [explain];
  const slices = quoted(`kubernetes.io/service-name=${name}`);
  return [
    explain,
    { what: "its slices", text: `kubectl get endpointslices -n ${of} -l ${slices} -o yaml${more}` },
    { what: "its events", text: `kubectl events -n ${of} --for ${quoted(`service/${name}`)}${more}` },
  ];
}
