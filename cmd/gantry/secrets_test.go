package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// secret is a part of what users must not find in any output.
const secret = "hunter2"

// TestMalformedProxy checks that every command that connects refuses a proxy variable before it does
// anything else, and does not print it. Other commands ignore it.
func TestMalformedProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := asking{t, map[string]string{"HTTPS_PROXY": "http://user:12/" + secret + "@proxy.example:3128", "HOME": dir, "CONTAINERS_REGISTRIES_CONF": os.DevNull}}
	for _, args := range [][]string{
		{"mirror", "-c", dir + "/none.yaml", "docker://mirror.example"},
		{"plan", "-c", dir + "/none.yaml"},
		{"verify", "-c", dir + "/none.yaml", "docker://mirror.example"},
		{"check", "quay.io/org/catalog:v1"},
		{"list", "operators", "--catalog", "quay.io/org/catalog:v1"},
		{"list", "releases"},
		{"graph", "release", "stable-4.20"},
		{"catalog", "render", "quay.io/org/catalog:v1"},
		{"login", "-u", "me", "--password-stdin", "quay.io"},
		{"list", "releases", "--output", "json"},
		{"list", "releases", "--progress", "json"},
	} {
		k.refuse(exitUsage, []string{"HTTPS_PROXY is not the URL of a proxy: text follows the host name and port", "colon, password and @ before HOST"}, args...)
		if o := k.gantry(args...); strings.Contains(o.stderr, secret) {
			t.Errorf("gantry %q prints the value:\n%s", args, o.stderr)
		}
	}
	for _, args := range [][]string{{"version"}, {"mirror", "--help"}, {"config", "schema"}} {
		if o := k.gantry(args...); o.code != exitOK {
			t.Errorf("gantry %q ended with %d\n%s", args, o.code, o.stderr)
		}
	}
}

// TestAddressesWithSecrets checks that no message shows the password or the token in an address that
// is not accepted.
func TestAddressesWithSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := func(name, text string) string {
		path := filepath.Join(dir, name)
		text = "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  " + text + "\n"
		fail.On(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	valid := config("valid.yaml", "additionalImages: [{name: 'quay.example/a:v1'}]")
	for _, address := range []string{
		"user:" + secret + "@mirror.example/a:v1", "docker://user:p@" + secret + "@mirror.example/a", "docker://user:12/" + secret + "@mirror.example/a",
		"https://user:" + secret + "@mirror.example/a", "mirror.example/a?token=" + secret, "docker://mirror.example/a?token=" + secret,
	} {
		env := map[string]string{"HOME": dir, "CONTAINERS_REGISTRIES_CONF": os.DevNull, updates.UpdateURLVariable: address}
		k := asking{t, env}
		for _, args := range [][]string{
			{"mirror", "-c", valid, address},
			{"mirror", "-c", valid, "docker://" + address},
			{"mirror", "--from", address, "docker://mirror.example"},
			{"mirror", "-c", address, "docker://mirror.example"},
			{"verify", "-c", valid, address},
			{"catalog", "render", address},
			{"catalog", "build", dir, address},
			{"graph", address, "package"},
			{"login", "-u", "me", "--password-stdin", address},
			{"list", "releases", "--version", "4.20", "-v"},
			{"list", "releases", "--version", "4.20", "--output", "json", "--log-format", "json", "--log-level", "trace"},
			{"list", "releases", "--version", "4.20", "--progress", "json"},
			{"plan", "-c", config("catalog.yaml", "operators: [{catalog: '"+address+"'}]")},
			{"plan", "-c", config("image.yaml", "additionalImages: [{name: '"+address+"'}]")},
			{"config", "check", config("target.yaml", "operators: [{catalog: 'quay.example/a:v1', targetCatalog: '"+address+"'}]")},
			{"config", "check", "--output", "json", config("service.yaml", "platform: {updateService: '"+address+"', channels: [{name: stable-4.20}]}")},
			{"config", "check", config("store.yaml", "platform: {signatureStores: ['"+address+"'], channels: [{name: stable-4.20}]}")},
			{"config", "check", config("unknown.yaml", "'"+address+"': 1")},
			{address},
		} {
			args = slices.Clone(args)
			if args[0] == "mirror" || args[0] == "plan" {
				args = append(args, "--workspace", filepath.Join(dir, "workspace"))
			}
			o := k.gantry(args...)
			if strings.Contains(o.stdout+o.stderr, secret) || o.code == exitOK && args[0] != "config" {
				t.Errorf("gantry %q ended with %d\n%s%s", args, o.code, o.stdout, o.stderr)
			}
		}
	}
}
