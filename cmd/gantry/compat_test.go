package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// compatDir has files that an older version wrote; the README there names it.
const compatDir = "../../testdata/compat/v0"

// The files contain the name of one mirror and of one folder. The tests replace them with their
// own.
const (
	compatMirror = "127.0.0.1:5000"
	compatFolder = "/compat"
)

const compatCatalog = `{"schema":"olm.package","name":"tool","defaultChannel":"stable"}
{"schema":"olm.channel","package":"tool","name":"stable","entries":[{"name":"tool.v1.0.0"},{"name":"tool.v1.1.0","replaces":"tool.v1.0.0"}]}
`

const compatBundle = `{"schema":"olm.bundle","package":"tool","name":"tool.v%[1]s","image":"registry.example.com/acme/tool-bundle@%[2]s","properties":[{"type":"olm.package","value":{"packageName":"tool","version":"%[1]s"}}],"relatedImages":[{"name":"tool","image":"registry.example.com/acme/tool@%[3]s"}]}
`

// The configurations of two months. Archives of the second month have only the new content.
const compatStanza = `  operators:
  - catalog: registry.example.com/acme/index:v4.20
    packages:
    - name: tool
%s  additionalImages:
  - name: images.example.net/extra:1
`

const (
	compatFirst  = ""
	compatSecond = "      minVersion: 1.0.0\n"
)

// compatFixture returns a fixture with an empty mirror and the small source from which the files in
// compatDir were mirrored.
func compatFixture(t *testing.T) *fixture {
	t.Helper()
	notAgain(t)
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: registrytest.New(t, registrytest.Options{}), mirror: registrytest.New(t, registrytest.Options{})}
	catalog := compatCatalog
	push := func(repository, tag string, img v1.Image, err error) string {
		t.Helper()
		fail.On(t, err)
		d, err := w.source.Client().Push(t.Context(), repository, tag, img)
		fail.On(t, err)
		return d.String()
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		operand, err := registrytest.SizedImage("tool "+version, 2000)
		image := push("registry.example.com/acme/tool", "v"+version, operand, err)
		bundle, err := registrytest.BundleImage("tool", version)
		catalog += fmt.Sprintf(compatBundle, version, push("registry.example.com/acme/tool-bundle", "v"+version, bundle, err), image)
	}
	index, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"},
		v1.Config{Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}, Entrypoint: []string{"/bin/opm"}, Cmd: []string{"serve", "/configs"}},
		[]registrytest.File{{Name: "bin/opm", Data: []byte("#!/bin/sh\n"), Mode: 0o755}},
		[]registrytest.File{{Name: "configs/tool/catalog.json", Data: []byte(catalog)}})
	push("registry.example.com/acme/index", "v4.20", index, err)
	extra, err := registrytest.SizedImage("extra", 3000)
	push("images.example.net/extra", "1", extra, err)
	var conf strings.Builder
	for _, host := range []string{w.source.Host, w.mirror.Host} {
		fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n\n", host)
	}
	for _, host := range []string{"registry.example.com", "images.example.net"} {
		fmt.Fprintf(&conf, "[[registry]]\nprefix = %q\nlocation = %q\ninsecure = true\n\n", host, w.source.Host+"/"+host)
	}
	w.surroundings(w.write("registries.conf", conf.String()), "")
	return w
}

// month writes the configuration of a month. The file name is always the same.
func (w *fixture) month(stanza string) string {
	return w.config("imageset.yaml", fmt.Sprintf(compatStanza, stanza))
}

// compatFile copies one of the files into the fixture's folder and returns its path. In texts and
// file names, the copy has the fixture's mirror and folder.
func (w *fixture) compatFile(name string) string {
	w.t.Helper()
	w.replaceTree(filepath.Join(compatDir, name), w.path(name), w.names()...)
	return w.path(name)
}

// names returns pairs: a name in the files, and the fixture's name that replaces it.
func (w *fixture) names() []string {
	fileName := func(host string) string { return strings.ReplaceAll(host, ":", "-") }
	return []string{compatMirror, w.mirror.Host, fileName(compatMirror), fileName(w.mirror.Host), compatFolder, w.dir}
}

// replaceTree copies a file or folder and replaces strings in file names and in text files.
func (w *fixture) replaceTree(from, to string, pairs ...string) {
	w.t.Helper()
	replacer := strings.NewReplacer(pairs...)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := to
		if rel != "." {
			target = filepath.Join(to, replacer.Replace(rel))
		}
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if inCache := strings.Contains(path, "/cache/"); !inCache && filepath.Ext(path) != ".tar" && !strings.Contains(path, "disk") {
			data = []byte(replacer.Replace(string(data)))
		}
		return os.WriteFile(target, data, 0o600)
	})
	fail.On(w.t, err)
}

// pushed returns the digests of the blobs that were uploaded to the mirror since the log was reset, without
// those of records.
func (w *fixture) pushed() (digests []string) {
	for _, r := range contentLog(w.mirror) {
		if r.Kind() == "PUT upload" || r.Method == http.MethodPost && strings.Contains(r.Query, "digest=") {
			digests = append(digests, r.Digest().String())
		}
	}
	return digests
}

// TestWorkspaceOfVersion0 checks that a registry-to-registry run continues with a workspace of
// version 0: it uploads no blob. The next archive has the next sequence and only new content.
func TestWorkspaceOfVersion0(t *testing.T) {
	w := compatFixture(t)
	key := w.compatFile("signing-key.pub")
	w.must("mirror", "--from", "file://"+w.compatFile("disk-1"), "--verify-key", key, w.docker(""), "--workspace", w.path("other"))
	w.mirror.ResetLog()
	old := w.compatFile("workspace")
	w.must("mirror", "-c", w.month(compatFirst), w.docker(""), "--workspace", old)
	if sent := w.pushed(); len(sent) > 0 {
		t.Errorf("blobs were sent again: %v", sent)
	}
	records, err := filepath.Glob(filepath.Join(old, "mirrors", "*.json"))
	if err != nil || len(records) != 1 {
		t.Fatalf("records %v, %v", records, err)
	}
	if text, err := os.ReadFile(records[0]); err != nil || !bytes.Contains(text, []byte(`"turn": 2`)) {
		t.Errorf("the record of the earlier run was not continued: %s, %v", text, err)
	}
	w.wantCatalogsOfVersion0(old)
	// The names are also kept if the record is lost.
	fail.On(t, os.Remove(records[0]))
	w.must("mirror", "-c", w.month(compatFirst), w.docker(""), "--workspace", old)
	w.wantCatalogsOfVersion0(old)
	w.must("mirror", "-c", w.month(compatSecond), "file://"+w.path("next"), "--workspace", old)
	if _, err := os.Stat(w.path("next/gantry-000003.json")); err != nil {
		t.Errorf("the next archive is not sequence 3: %v", err)
	}
}

// wantCatalogsOfVersion0 checks that the objects of a catalog have the names that version 0 gave them,
// to which Subscriptions refer.
func (w *fixture) wantCatalogsOfVersion0(workspace string) {
	w.t.Helper()
	for _, want := range []string{"cc-index-v4-20-", "cs-index-v4-20-"} {
		if names := w.glob(filepath.Join(workspace, "cluster-resources", want[:3]+"*.yaml")); len(names) != 1 || !strings.HasPrefix(filepath.Base(names[0]), want) {
			w.t.Errorf("cluster resources: %v, want one with the name %s and a hash", names, want)
		}
	}
}

// glob returns the files that match a pattern.
func (w *fixture) glob(pattern string) []string {
	w.t.Helper()
	names, err := filepath.Glob(pattern)
	fail.On(w.t, err)
	return names
}

// TestImportWithAWorkspaceOfVersion0 checks that the disconnected side uses the receipt in its
// workspace to import the second archive into a mirror that has the first.
func TestImportWithAWorkspaceOfVersion0(t *testing.T) {
	w := compatFixture(t)
	key := w.compatFile("signing-key.pub")
	disks := []string{w.compatFile("disk-1"), w.compatFile("disk-2")}
	for _, disk := range disks {
		w.must("verify", "--verify-key", key, "file://"+disk)
	}
	w.must("mirror", "--from", "file://"+disks[0], "--verify-key", key, w.docker(""), "--workspace", w.path("other"))
	first := w.pushed()
	w.mirror.ResetLog()
	site := w.compatFile("site-workspace")
	w.must("mirror", "--from", "file://"+disks[1], "--verify-key", key, w.docker(""), "--workspace", site)
	sent := w.pushed()
	if len(sent) == 0 {
		t.Error("nothing was sent of the second archive")
	}
	for _, d := range sent {
		if slices.Contains(first, d) {
			t.Errorf("%s was sent again", d)
		}
	}
	receipts := w.glob(filepath.Join(site, "receipts", "*", "imageset.json"))
	if len(receipts) != 1 {
		t.Fatalf("receipts: %v", receipts)
	}
	text, err := os.ReadFile(receipts[0])
	if err != nil || !bytes.Contains(text, []byte(`"sequence":1`)) || !bytes.Contains(text, []byte(`"sequence":2`)) {
		t.Errorf("the receipt is %s, %v", text, err)
	}
}

// TestFilesOfVersion0 checks that plans, receipts, repair requests, journals and encrypted archives of
// version 0 can be read.
func TestFilesOfVersion0(t *testing.T) {
	w := compatFixture(t)
	w.must("mirror", "--plan", w.compatFile("plan.json"), w.docker("/plan"))
	// A run that was killed continues.
	old := w.compatFile("interrupted-workspace")
	w.must("mirror", "-c", w.month(compatFirst), w.docker(""), "--workspace", old)
	if names := w.glob(filepath.Join(old, "journal", "*")); len(names) != 0 {
		t.Errorf("journals of a finished run: %v", names)
	}
	w.must("mirror", "-c", w.month(compatSecond), "--receipt", w.compatFile("receipt.json"), "file://"+w.path("by-receipt"))
	w.must("mirror", "--repair", w.compatFile("repair-request.json"), "file://"+w.path("repair"), "--workspace", w.compatFile("workspace"))
	disk := "file://" + w.compatFile("disk-encrypted")
	identity := w.compatFile("identity.txt")
	w.must("verify", "--identity", identity, disk)
	w.must("mirror", "--from", disk, "--identity", identity, w.docker("/encrypted"), "--workspace", w.path("third"))
}
