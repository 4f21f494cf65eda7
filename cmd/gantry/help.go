package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flagGroup is a group of flags in the complete help of a command.
type flagGroup struct {
	title string
	names []string
}

// flagGroups are the groups of flags, in the order of help. Flags that are in no group are those that
// most users need: the short help describes only them.
var flagGroups = []flagGroup{
	{"Content", []string{"complete-related-images", "platforms-mode", "dest-format", "forget-installed", "allow-older", "min-age"}},
	{"Source", []string{"src-authfile", "src-cert-dir", "src-tls-verify", "src-plain-http"}},
	{"Destination", []string{"dest-authfile", "dest-cert-dir", "dest-tls-verify", "dest-plain-http", "create-repositories", "registry-kind", "registry-token-file", "max-nested-paths", "mirror-source-policy", "prune", "tag-untagged", "resources-only", "layout", "icsp", "resource-name", "rename-catalogs"}},
	{"Several hosts", []string{"shard", "finish", kubernetesJobFlag, kubernetesImageFlag, kubernetesClaimFlag}},
	{"Archive", []string{"write-receipt", "redundancy", "strict-archive", "delta", "delta-time", "compact", "disk-speed", "compact-dependents", "with-gantry", "repair", "encrypt-to"}},
	{"Trust", []string{
		signKeyFlag, "sign-passphrase-file", verifyKeyFlag, allowedSignersFlag, signerFlag, requireSignatureFlag, "require-signed-plan", identityFlag, identityPassphraseFlag,
		"release-key", "ignore-release-signature", "remove-signatures", "authfile", "cert-dir",
		policyFlag, securePolicyFlag, registriesDFlag, cosignFlag, "image-policies", "image-policy-namespace",
		gateFlag, gatePlanFlag, gateParallelFlag, gateTimeoutFlag, gateValidFlag,
	}},
	{"Lists", []string{"list-mirror", "delete-id"}},
	{"Reports", []string{"failures", "metrics-file", "report"}},
	{"Tuning", []string{"retry-times", "retry-delay", "parallel-images", "parallel-layers", "limit-rate", "min-rate", "silent-timeout", "limits", "cache-dir", "helm-renderer"}},
}

// allFlags is the flag that makes --help describe every flag.
const allFlags = "all"

// exitHeading begins the part about the exit status in the long description of a command.
const exitHeading = "EXIT STATUS\n"

// help prints the help of a command.
func (a *app) help(c *cobra.Command, _ []string) {
	all := c.Flags().Lookup(allFlags)
	_, _ = io.WriteString(c.OutOrStdout(), helpText(c, all != nil && all.Changed)) // a reader that is gone needs no help
}

// helpText returns the help of a command: examples, usage, what it does, flags, and its exit status.
// If all is not set, it describes the flags that most users need, in at most 60 lines. Otherwise it
// describes all, in groups.
func helpText(c *cobra.Command, all bool) string {
	about, exit, hasExit := strings.Cut(cmp.Or(c.Long, c.Short), exitHeading)
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n\n", title, text)
		}
	}
	section("Examples", c.Example)
	section("Usage", "  "+c.UseLine())
	b.WriteString(strings.TrimSpace(about) + "\n\n")
	section("Commands", commandsIn(c, ""))
	for _, group := range c.Groups() {
		section(group.Title, commandsIn(c, group.ID))
	}
	own, inherited := c.LocalFlags(), c.InheritedFlags()
	isOutput := func(f *pflag.Flag) bool { return f.Name == "output" }
	common := flagsIn(own, isCommon)
	common.AddFlagSet(flagsIn(inherited, isOutput))
	inherited = flagsIn(inherited, func(f *pflag.Flag) bool { return !isOutput(f) })
	section("Flags", common.FlagUsages())
	if all {
		for _, g := range flagGroups {
			section(g.title, flagsIn(own, func(f *pflag.Flag) bool { return slices.Contains(g.names, f.Name) }).FlagUsages())
		}
		section("Flags of every command", inherited.FlagUsages())
	} else if names := namesOf(flagsIn(own, func(f *pflag.Flag) bool { return !isCommon(f) }), inherited); names != "" {
		fmt.Fprintf(&b, "More flags, which %s --help --all describes:\n%s\n\n", c.CommandPath(), names)
	}
	if hasExit {
		b.WriteString(exitHeading + strings.TrimRight(exit, "\n") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// commandsIn returns the commands below c in a group, a line each.
func commandsIn(c *cobra.Command, group string) string {
	var lines []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.GroupID == group {
			lines = append(lines, fmt.Sprintf("  %-*s  %s", sub.NamePadding(), sub.Name(), sub.Short))
		}
	}
	return strings.Join(lines, "\n")
}

// isCommon reports whether a flag of a command is in no group.
func isCommon(f *pflag.Flag) bool {
	return f.Name != "help" && !slices.ContainsFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.names, f.Name) })
}

// flagsIn returns the flags of a set that are wanted.
func flagsIn(all *pflag.FlagSet, want func(*pflag.Flag) bool) *pflag.FlagSet {
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	out.SortFlags = all.SortFlags
	all.VisitAll(func(f *pflag.Flag) {
		if want(f) {
			out.AddFlag(f)
		}
	})
	return out
}

// helpWidth is the width of lists of flags without descriptions, in columns.
const helpWidth = 100

// namesOf returns the names of flags, in lines.
func namesOf(sets ...*pflag.FlagSet) string {
	var b strings.Builder
	at := 0
	add := func(f *pflag.Flag) {
		name := "--" + f.Name
		switch {
		case f.Hidden || f.Name == "help":
			return
		case at == 0:
			b.WriteString("  ")
			at = 2
		case at+1+len(name) > helpWidth:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(name)
		at += len(name)
	}
	for _, flags := range sets {
		flags.VisitAll(add)
	}
	return b.String()
}
