package ocmirror

import (
	"fmt"
	"strings"
)

// A form is a way to call a command of oc mirror, and what it does here.
type form struct {
	verb Verb
	// args follow the name, and gantry is the same for Gantry.
	args, gantry string
}

// forms are what the help and the documentation list.
var forms = []form{
	{Mirror, "-c FILE file://DIR", "gantry mirror -c FILE file://DIR"},
	{Mirror, "-c FILE --from file://DIR docker://HOST/PREFIX", "gantry mirror --from file://DIR docker://HOST/PREFIX"},
	{Mirror, "-c FILE --workspace file://DIR docker://HOST/PREFIX", "gantry mirror -c FILE --workspace DIR docker://HOST/PREFIX"},
	{ListOperators, "list operators", "gantry list operators"},
	{ListOperators, "list operators --catalogs --version X.Y", "gantry list operators --catalogs --version X.Y"},
	{ListOperators, "list operators --catalog IMAGE [--package NAME [--channel NAME]]", "gantry list operators with the same flags"},
	{ListReleases, "list releases", "gantry list releases"},
	{ListReleases, "list releases --version X.Y [--channels]", "gantry list releases with the same flags"},
	{ListReleases, "list releases --channel NAME", "gantry list releases --channel NAME"},
	{ListUpdates, "list updates FILE", "gantry plan -c FILE"},
	{Describe, "describe DIR", "gantry archive inspect file://DIR"},
	{Init, "init", "gantry config init"},
	{Version, "version [--output json|yaml]", "gantry version [-o json|yaml]"},
	{Delete, "delete --generate -c FILE --workspace file://DIR docker://HOST/PREFIX", "gantry delete --generate -c FILE --workspace DIR docker://HOST/PREFIX"},
	{Delete, "delete --delete-yaml-file FILE docker://HOST/PREFIX", "gantry delete --delete-yaml-file FILE docker://HOST/PREFIX"},
}

// helpAbout follows the usage in the help.
const helpAbout = `This is Gantry under the name of oc mirror: it takes the command lines of oc mirror, version
1 and 2, with the files of that tool. Flags may be anywhere. A flag without effect is answered
with one line that says why. All flags of gantry mirror are accepted, too. The workspace is
the folder working-dir in --workspace, in the destination file://DIR, or in --from.
`

// help returns the help of a verb, or of several. If all is set, it describes every flag.
func help(verb Verb, name string, all bool) string {
	var b strings.Builder
	b.WriteString("Usage, and what it runs:\n")
	for _, f := range forms {
		if verb == Mirror || f.verb&verb != 0 {
			fmt.Fprintf(&b, "  %s %s\n      %s\n", name, f.args, f.gantry)
		}
	}
	b.WriteString("\n" + helpAbout)
	var shown []string
	for i := range flags {
		f := &flags[i]
		if f.Verbs&verb != 0 && (all || verb != Mirror && f.Verbs != everyVerb) {
			shown = append(shown, fmt.Sprintf("  %-36s %s\n", f.usage(), plainText(f.Becomes())))
		}
	}
	if len(shown) > 0 {
		b.WriteString("\nFlags, and what they are in Gantry:\n" + strings.Join(shown, ""))
	}
	if !all {
		fmt.Fprintf(&b, "\n%s --help --all lists every flag.\n", strings.TrimSpace(name+" "+typed(verb)))
	}
	return b.String()
}

// typed returns the words of a verb, or of the command above several.
func typed(verb Verb) string {
	if verb == lists {
		return "list"
	}
	words, _ := verb.words()
	return words
}

// usage returns the flag as help shows it.
func (f *Flag) usage() string {
	text := "--" + f.Name
	if f.Short != "" {
		text = "-" + f.Short + ", " + text
	}
	return text + map[Kind]string{Text: " TEXT", Int: " N", Duration: " DURATION", Level: " [N]"}[f.Takes]
}

// Becomes returns what a flag is here, as Markdown.
func (f *Flag) Becomes() string {
	return strings.ReplaceAll(becomes[f.Effect], "TEXT", f.Text)
}

// becomes are the effects of flags with their texts, as Markdown.
var becomes = map[Effect]string{
	Same: "the same", Renamed: "`--TEXT`", Opposite: "`--TEXT=false`", Honored: "nothing to do: TEXT", Ignored: "no effect: TEXT", Refused: "refused: TEXT", Special: "TEXT",
}

// plainText removes the marks of Markdown.
func plainText(text string) string { return strings.ReplaceAll(text, "`", "") }
