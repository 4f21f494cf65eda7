package mirroring

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestFilesForPlainMirror checks that the files for hosts and installers name a mirror without TLS by http, whether or not
// Options.Destination.PlainHTTP is set, and that a later run does not change or remove them.
func TestFilesForPlainMirror(t *testing.T) {
	source, mirror := registrytest.Start(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{})
	image, err := registrytest.Image("netcheck")
	fail.On(t, err)
	_, err = source.Client().Push(t.Context(), "tools/netcheck", "v1", image)
	fail.On(t, err)
	dir := t.TempDir()
	config := filepath.Join(dir, "imageset.yaml")
	text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n  - name: " + source.Host + "/tools/netcheck:v1\n"
	fail.On(t, os.WriteFile(config, []byte(text), 0o600))
	ws := filepath.Join(dir, "ws")
	env := func(plain bool) *env.Env {
		e := &env.Env{Registries: env.Registries{Destination: env.Side{PlainHTTP: plain}}, Home: dir, Getenv: func(string) string { return "" }}
		t.Cleanup(e.Close)
		return e
	}
	mirrorTo := func(plain bool) *cluster.ResourceFiles {
		result, err := Run(t.Context(), Options{Env: env(plain), Selection: selection.Selection{Config: config}, Destination: "docker://" + mirror.Host + "/ocp", Workspace: ws})
		fail.On(t, err)
		return result.Resources
	}
	mirrorTo(false)
	checkPrefixHint(t, env(false), config, filepath.Join(dir, "other"), mirror.Host)
	first := filesBelow(t, filepath.Join(ws, "hosts"), filepath.Join(ws, "install"))
	for name, text := range first {
		if strings.Contains(text, "https://"+mirror.Host) {
			t.Errorf("%s has https://", name)
		}
	}
	for name, want := range map[string]string{
		"hosts/containerd/certs.d/" + strings.Replace(source.Host, ":", "_", 1) + "_/hosts.toml": `[host."http://` + mirror.Host,
		"hosts/k3s/registries.yaml":                         "http://" + mirror.Host,
		"hosts/talos/machine-config-patch.yaml":             "http://" + mirror.Host,
		"hosts/containers/registries.conf.d/50-mirror.conf": "insecure = true",
	} {
		if !strings.Contains(first[name], want) {
			t.Errorf("%s has no %s:\n%s", name, want, first[name])
		}
	}
	again := func(what string, written *cluster.ResourceFiles) {
		t.Helper()
		for _, folder := range written.Folders {
			if len(folder.Removed) > 0 {
				t.Errorf("%s removed %v", what, folder.Removed)
			}
		}
		fail.Diff(t, first, filesBelow(t, filepath.Join(ws, "hosts"), filepath.Join(ws, "install")))
	}
	again("a run with the option", mirrorTo(true))
	again("a run without it", mirrorTo(false))
	written, err := Resources(t.Context(), cluster.ResourcesOptions{Env: env(false), Workspace: ws})
	fail.On(t, err)
	again("writing them again", written)
}

// filesBelow returns the files of folders, by the names of folder and file.
func filesBelow(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(file)
			name, _ := filepath.Rel(filepath.Dir(folder), file)
			all[filepath.ToSlash(name)] = string(text)
			return err
		})
		fail.On(t, err)
	}
	return all
}

// checkPrefixHint checks that verifying a mirror without its prefix names the prefix.
func checkPrefixHint(t *testing.T, e *env.Env, config, ws, host string) {
	t.Helper()
	for at, want := range map[string]string{
		"":       "check the prefix: image sets were mirrored to docker://" + host + "/ocp",
		"/wrong": "check the prefix: image sets were mirrored to docker://" + host + "/ocp",
	} {
		_, err := verify.Run(t.Context(), verify.Options{Env: e, Selection: selection.Selection{Config: config}, Locations: []string{"docker://" + host + at}, Workspace: ws})
		if advice.KindOf(err) != advice.Mismatch || !strings.Contains(advice.Text(err), want) {
			t.Errorf("%q: %s, want %q", at, advice.Text(err), want)
		}
	}
}
