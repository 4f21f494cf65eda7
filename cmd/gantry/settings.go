package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/settings"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
)

const (
	// settingsFlag names the file of settings, and settingsVariable does if the flag is not given.
	settingsFlag     = "settings"
	settingsVariable = "GANTRY_SETTINGS"
	// settingsFile is the file in the folders of the user's and the machine's configuration, and noSettings reads none.
	settingsFile = "gantry.yaml"
	noSettings   = "none"
	// machineConfig is the folder of the machine's configuration.
	machineConfig = "/etc/gantry"
)

// A siteSetting is a flag that a file of settings may have.
type siteSetting struct {
	flag string
	kind settingKind
	// unless are flags that replace it.
	unless []string
	// when reports whether it has an effect on a command line. Nil means on all.
	when func(l *settingLine) bool
}

// A settingKind is how a relative value is read: as it is, below the folder of the file, or so unless it is the name of a
// program in PATH.
type settingKind int

const (
	settingValue settingKind = iota
	settingPath
	settingProgram
)

// A settingLine is a command line to which settings are applied.
type settingLine struct {
	cmd  *cobra.Command
	args []string
	set  map[string]bool // flags that are given, or set by a file
}

// has reports whether one of these flags is set.
func (l *settingLine) has(flags ...string) bool {
	return slices.ContainsFunc(flags, func(name string) bool { return l.set[name] })
}

// names reports whether an argument is a destination or source of this scheme.
func (l *settingLine) names(scheme string) bool {
	return slices.ContainsFunc(l.args, func(arg string) bool { return strings.HasPrefix(arg, scheme) })
}

// The command lines on which settings have an effect.
func settingToRegistry(l *settingLine) bool { return l.names(dockerScheme) }
func settingCreates(l *settingLine) bool {
	return l.cmd.Name() == "prepare" || settingToRegistry(l) && !l.has("resources-only", "repair")
}
func settingProvisions(l *settingLine) bool {
	return l.cmd.Name() == "prepare" || settingCreates(l) && l.has("create-repositories")
}
func settingToArchive(l *settingLine) bool {
	return l.cmd.Name() == "convert" || l.cmd.Name() == "mirror" && l.names(fileScheme)
}
func settingNewArchive(l *settingLine) bool { return settingToArchive(l) && !l.has("repair") }
func settingCompacts(l *settingLine) bool {
	return settingNewArchive(l) || l.cmd.Name() == "plan" && l.names(fileScheme)
}
func settingSigns(l *settingLine) bool {
	return settingToArchive(l) || l.has("lock") || l.cmd.Name() == "mirror" && l.has("from") && settingToRegistry(l)
}
func settingGates(l *settingLine) bool {
	return !l.has("from", "repair", "resources-only", kubernetesJobFlag)
}
func settingPlans(l *settingLine) bool { return l.has(configFlag) && !l.has("from") }

// siteSettings are the flags that are the same for every run at a site. Those that others depend on come first.
var siteSettings = []siteSetting{
	{flag: "authfile", kind: settingPath},
	{flag: "cert-dir", kind: settingPath},
	{flag: "src-authfile", kind: settingPath, unless: []string{"authfile"}},
	{flag: "src-cert-dir", kind: settingPath, unless: []string{"cert-dir"}},
	{flag: "src-tls-verify"},
	{flag: "src-plain-http"},
	{flag: "dest-authfile", kind: settingPath, unless: []string{"authfile"}},
	{flag: "dest-cert-dir", kind: settingPath, unless: []string{"cert-dir"}},
	{flag: "dest-tls-verify"},
	{flag: "dest-plain-http"},
	{flag: "retry-times"},
	{flag: "retry-delay"},
	{flag: "silent-timeout"},
	{flag: "limit-rate"},
	{flag: "min-rate"},
	{flag: "limits", kind: settingPath},
	{flag: "parallel-images"},
	{flag: "parallel-layers"},
	{flag: "window"},
	{flag: "cache-dir", kind: settingPath},
	{flag: "helm-renderer", kind: settingProgram},
	{flag: "max-nested-paths"},
	{flag: "create-repositories", when: settingCreates},
	{flag: "registry-kind", when: settingProvisions},
	{flag: "registry-token-file", kind: settingPath, when: settingProvisions},
	{flag: "mirror-source-policy", when: settingToRegistry},
	{flag: "volume-size", when: settingNewArchive},
	{flag: "redundancy", when: settingNewArchive},
	{flag: "compact", when: settingCompacts},
	{flag: "disk-speed", when: func(l *settingLine) bool { return settingCompacts(l) && l.has("compact") }},
	{flag: "compact-dependents", when: func(l *settingLine) bool { return settingCompacts(l) && l.has("compact") }},
	{flag: "encrypt-to", when: settingToArchive},
	{flag: "sign-passphrase-file", kind: settingPath, unless: []string{signKeyFlag}, when: settingSigns},
	{flag: signKeyFlag, kind: settingPath, when: settingSigns},
	{flag: verifyKeyFlag, kind: settingPath, unless: []string{allowedSignersFlag}},
	{flag: allowedSignersFlag, kind: settingPath, unless: []string{verifyKeyFlag}},
	{flag: identityPassphraseFlag, kind: settingPath, unless: []string{identityFlag}},
	{flag: identityFlag, kind: settingPath},
	{flag: "release-key", kind: settingPath},
	{flag: policyFlag, kind: settingPath, unless: []string{securePolicyFlag}, when: settingGates},
	{flag: registriesDFlag, kind: settingPath, when: settingGates},
	{flag: gateFlag, kind: settingProgram, when: settingGates},
	{flag: gatePlanFlag, kind: settingProgram, when: func(l *settingLine) bool { return !l.has("repair", "resources-only", kubernetesJobFlag) }},
	{flag: gateParallelFlag, when: func(l *settingLine) bool { return l.has(gateFlag) }},
	{flag: gateTimeoutFlag, when: func(l *settingLine) bool { return l.has(gateFlag, gatePlanFlag) }},
	{flag: gateValidFlag, when: func(l *settingLine) bool { return l.has(gateFlag) }},
	{flag: "min-age", when: settingPlans},
	{flag: "log-level", unless: []string{"verbose"}},
	{flag: "log-format"},
	{flag: "progress", unless: []string{"quiet"}},
}

// applySettings sets flags of a command from the files of settings. A flag on the command line has precedence, then the
// user's file, then the machine's.
func (a *app) applySettings(cmd *cobra.Command, args []string) error {
	files := a.settingsFiles()
	if len(files) == 0 {
		return nil
	}
	l := &settingLine{cmd: cmd, args: args, set: map[string]bool{}}
	cmd.Flags().Visit(func(f *pflag.Flag) { l.set[f.Name] = true })
	for _, file := range files {
		all, err := settings.Read(file)
		if err != nil {
			return advice.Wrap(advice.Input, err, "")
		}
		byFlag := map[string]settings.Setting{}
		for _, s := range all {
			if !slices.ContainsFunc(siteSettings, func(known siteSetting) bool { return known.flag == s.Name }) {
				return unknownSetting(file, s)
			}
			byFlag[s.Name] = s
		}
		before := settingLine{set: maps.Clone(l.set)}
		for _, known := range siteSettings {
			s, ok := byFlag[known.flag]
			if !ok || before.has(append(known.unless, known.flag)...) || known.when != nil && !known.when(l) {
				continue
			}
			if err := a.applySetting(l, file, known, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// settingsFiles returns the files of settings, those with precedence first.
func (a *app) settingsFiles() []string {
	name := cmp.Or(a.settings, a.getenv(settingsVariable))
	switch {
	case name == noSettings:
		return nil
	case name != "":
		return []string{name}
	}
	var files []string
	if file := env.ConfigFile(a.getenv, settingsFile); file != "" {
		files = append(files, file)
	}
	file := filepath.Join(machineConfig, settingsFile)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, file) // what prevents reading it is reported then
	}
	return files
}

// applySetting sets the flag of a setting, if the command has it. The flag does not count as given: if it has no effect on
// what is done, that is no error.
func (a *app) applySetting(l *settingLine, file string, known siteSetting, s settings.Setting) error {
	flag := l.cmd.Flags().Lookup(s.Name)
	if flag == nil {
		return nil
	}
	l.set[s.Name] = true
	if len(s.Values) > 1 && !strings.HasSuffix(flag.Value.Type(), "Array") && !strings.HasSuffix(flag.Value.Type(), "Slice") {
		return usagef("%s:%d: %s has one value, and here are %d", file, s.Line, s.Name, len(s.Values))
	}
	for _, value := range s.Values {
		if value == "" {
			return usageHint("leave it out", "%s:%d: %s is empty", file, s.Line, s.Name)
		}
		if err := flag.Value.Set(a.settingValue(file, known.kind, value)); err != nil {
			return usagef("%s:%d: %s: %w", file, s.Line, s.Name, err)
		}
	}
	a.set = append(a.set, appliedSetting{s.Name, fmt.Sprintf("%s:%d", file, s.Line)})
	return nil
}

// An appliedSetting is a flag that a file set, and the line.
type appliedSetting struct{ flag, at string }

// explainSettings adds to the hint of an error which of the flags in its text are set by a file.
func (a *app) explainSettings(err error) error {
	if err == nil || len(a.set) == 0 || status(err) != exitUsage {
		return err
	}
	message, _ := splitHint(err)
	var notes []string
	for _, s := range a.set {
		if slices.Contains(strings.FieldsFunc(message, func(r rune) bool { return r == ' ' || r == ',' || r == ':' }), "--"+s.flag) {
			notes = append(notes, s.at+" sets --"+s.flag)
		}
	}
	if len(notes) == 0 {
		return err
	}
	return advice.Wrap(advice.Input, err, strings.Join(notes, "; "))
}

// unknownSetting returns the error for a name that is no setting.
func unknownSetting(file string, s settings.Setting) error {
	names := elements.Map(siteSettings, func(known siteSetting) string { return known.flag })
	hint := suggest.Phrase(s.Name, names)
	hint = cmp.Or(hint, "docs/reference/flags.md lists the settings; other flags stand on the command line")
	return usageHint(hint, "%s:%d: %s is no setting", file, s.Line, s.Name)
}

// settingValue returns a value of a file. In paths, "~" is the home folder, and a relative one is below the folder of the
// file.
func (a *app) settingValue(file string, kind settingKind, value string) string {
	if kind == settingValue || kind == settingProgram && !strings.Contains(value, "/") {
		return value
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(a.getenv("HOME"), rest)
	}
	if filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(filepath.Dir(file), value)
}
