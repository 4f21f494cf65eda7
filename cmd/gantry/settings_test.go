package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// settingsOf returns the flags that files of settings set on a command line, by name, and the error.
func settingsOf(t *testing.T, env map[string]string, line string) (map[string]string, error) {
	t.Helper()
	a := &app{env: env}
	cmd, rest, err := a.command(everyVerb).Find(strings.Fields(line))
	fail.On(t, err)
	fail.On(t, cmd.ParseFlags(rest))
	if err := a.applySettings(cmd, cmd.Flags().Args()); err != nil {
		return nil, err
	}
	got := map[string]string{}
	for _, s := range a.set {
		got[s.flag] = cmd.Flags().Lookup(s.flag).Value.String()
		if cmd.Flags().Changed(s.flag) {
			t.Errorf("%s: --%s counts as given", line, s.flag)
		}
	}
	return got, nil
}

func TestSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "gantry")
	fail.On(t, os.MkdirAll(dir, 0o700))
	env := map[string]string{"HOME": home}
	for _, c := range []struct {
		name, text, line string
		want             map[string]string
		err              string
	}{
		{"every command", "retry-times: 3\nlimit-rate: 5MiB\n", "plan -c a.yaml", map[string]string{"retry-times": "3", "limit-rate": "5MiB"}, ""},
		{"a command without the flag", "retry-times: 3\n", "config init", map[string]string{}, ""},
		{"the command line first", "retry-times: 3\nlimit-rate: 5MiB\n", "plan -c a.yaml --limit-rate 1MiB", map[string]string{"retry-times": "3"}, ""},
		{"replaced on the command line", "dest-authfile: d.json\nsrc-authfile: s.json\n", "mirror -c a.yaml docker://m --authfile a.json", map[string]string{}, ""},
		{"paths", "src-authfile: s.json\ndest-authfile: ~/d.json\ncert-dir: /etc/certs\ngate: scan\nhelm-renderer: ./helm\n", "mirror -c a.yaml docker://m", map[string]string{
			"src-authfile": filepath.Join(dir, "s.json"), "dest-authfile": filepath.Join(home, "d.json"), "cert-dir": "/etc/certs", "gate": "scan", "helm-renderer": filepath.Join(dir, "helm"),
		}, ""},
		{"lists", "window: [\"20:00-06:00\", \"22:00-24:00\"]\nverify-key: [/a.pub, /b.pub]\n", "mirror --from file://d docker://m", map[string]string{"window": "[20:00-06:00,22:00-24:00]", "verify-key": "/a.pub, /b.pub"}, ""},
		{"for archives", "volume-size: 4GB\nredundancy: 10\nencrypt-to: age1x\nsign-key: /k\n", "mirror -c a.yaml file://d", map[string]string{"volume-size": "4GB", "redundancy": "10", "encrypt-to": "age1x", "sign-key": "/k"}, ""},
		{"compact archives", "compact: auto\ndisk-speed: 5MB\n", "mirror -c a.yaml file://d", map[string]string{"compact": "auto", "disk-speed": "5MB"}, ""},
		{"compact archives that are planned", "compact: auto\ndisk-speed: 5MB\n", "plan -c a.yaml file://d", map[string]string{"compact": "auto", "disk-speed": "5MB"}, ""},
		{"no compact mirrors", "compact: auto\ndisk-speed: 5MB\n", "plan -c a.yaml docker://m", map[string]string{}, ""},
		{"not for registries", "volume-size: 4GB\nredundancy: 10\nencrypt-to: age1x\nsign-key: /k\n", "mirror -c a.yaml docker://m", map[string]string{}, ""},
		{"a receipt is signed", "sign-key: /k\n", "mirror --from file://d docker://m", map[string]string{"sign-key": "/k"}, ""},
		{"a plan is signed if it is written", "sign-key: /k\n", "plan -c a.yaml", map[string]string{}, ""},
		{"a plan is signed", "sign-key: /k\n", "plan -c a.yaml --lock p.json", map[string]string{"sign-key": "/k"}, ""},
		{"repositories are created", "registry-kind: quay\ncreate-repositories: true\nregistry-token-file: /t\n", "mirror -c a.yaml docker://m", map[string]string{"create-repositories": "true", "registry-kind": "quay", "registry-token-file": "/t"}, ""},
		{"no repositories are created", "registry-kind: quay\n", "mirror -c a.yaml docker://m", map[string]string{}, ""},
		{"gates", "gate: scan\ngate-parallel: 2\ngate-timeout: 1m\n", "plan -c a.yaml", map[string]string{"gate": "scan", "gate-parallel": "2", "gate-timeout": "1m0s"}, ""},
		{"gates of imports", "gate: scan\ngate-parallel: 2\ngate-timeout: 1m\n", "mirror --from file://d docker://m", map[string]string{}, ""},
		{"unknown", "retry-time: 3\n", "plan -c a.yaml", nil, ":1: retry-time is no setting"},
		{"of the command line", "yes: true\n", "prune docker://m", nil, ":1: yes is no setting"},
		{"a wrong value", "\nretry-times: many\n", "plan -c a.yaml", nil, ":2: retry-times: use a number from 0 to 1000"},
		{"two values", "limit-rate: [1MiB, 2MiB]\n", "plan -c a.yaml", nil, ":1: limit-rate has one value, and here are 2"},
		{"empty", "gate: ''\n", "plan -c a.yaml", nil, ":1: gate is empty"},
		{"no YAML", "a: [\n", "plan -c a.yaml", nil, ":1: invalid YAML"},
	} {
		file := filepath.Join(dir, settingsFile)
		fail.On(t, os.WriteFile(file, []byte(c.text), 0o600))
		got, err := settingsOf(t, env, c.line)
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), file+c.err) || status(err) != exitUsage {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		}
	}
}

// TestSettingsFiles checks which files of settings are read, and that the program says which line set a flag that it refuses.
func TestSettingsFiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	user, other, bad := filepath.Join(home, "xdg", "gantry", settingsFile), filepath.Join(home, "other.yaml"), filepath.Join(home, "bad.yaml")
	fail.On(t, os.MkdirAll(filepath.Dir(user), 0o700))
	for file, text := range map[string]string{user: "retry-times: 3\n", other: "retry-times: 4\n", bad: "# a site\nlog-level: loud\n"} {
		fail.On(t, os.WriteFile(file, []byte(text), 0o600))
	}
	env := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "xdg")}
	for _, c := range []struct{ settings, variable, want string }{
		{"", "", "3"}, {other, "", "4"}, {"", other, "4"}, {noSettings, other, "8"}, {"", noSettings, "8"}, {other, noSettings, "4"},
	} {
		a := &app{env: env, settings: c.settings}
		if c.variable != "" {
			a.setenv = map[string]string{settingsVariable: c.variable}
		}
		cmd, _, err := a.command(everyVerb).Find([]string{"plan"})
		a.settings = c.settings // the flag has no value yet
		if err == nil {
			err = a.applySettings(cmd, nil)
		}
		if got := cmd.Flags().Lookup("retry-times").Value.String(); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--settings", filepath.Join(home, "absent.yaml")}, "absent.yaml: no such file or directory"},
		{[]string{"--settings", bad}, "; " + bad + ":2 sets --log-level; use error, warn"},
	} {
		var stdout, stderr bytes.Buffer
		config := filepath.Join(home, "a.yaml")
		fail.On(t, os.WriteFile(config, []byte("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n  - name: 127.0.0.1:1/a/b:v1\n"), 0o600))
		args := append([]string{"plan", "-c", config, "--workspace", filepath.Join(home, "ws")}, c.args...)
		if code := (&app{stdout: &stdout, stderr: &stderr, env: env}).run(args); code != exitUsage || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: %d\n%s", c.args, code, stderr.String())
		}
	}
}
