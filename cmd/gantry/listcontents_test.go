package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestListContents checks the arguments, flags and texts of lists of catalogs, mirrors and archives. Package contents tests
// what they have.
func TestListContents(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	live := w.write("live.iso", "0123456789")
	isc := w.config("zoo.yaml", "  operators:\n  - catalog: "+zooRef+"\n    packages: [{name: otter, channels: [{name: stable, minVersion: 1.3.0}]}, {name: vole}]\n  files: [{path: '"+live+"'}]\n")
	mirror, disk := w.docker("/zoo"), "file://"+w.path("disk")
	w.must("mirror", "-c", isc, mirror)
	w.must("mirror", "-c", isc, disk)
	size := regexp.MustCompile(`[0-9.]+ [KM]?i?B\b *`)
	for _, test := range []struct{ args, want string }{
		{"packages FOLDER OTT* --at MIRROR", "PACKAGE  NAME   CHANNEL  VERSION  OLM V1  AT\notter    Otter  stable   1.3.0    probably     partly\n"},
		{"packages DISK", "PACKAGE  NAME   CHANNEL  VERSION  OLM V1  SIZE       HERE  VOLUMES\notter    Otter  stable   1.3.0    yes     # yes   gantry-000001.0001.tar\nvole     Vole   stable   1.0.0    yes     # yes   gantry-000001.0001.tar\n"},
		{"channels MIRROR DISK otter", "PACKAGE  CHANNEL           HEAD          BUNDLES  VERSIONS  OLM V1  SIZE     HERE  VOLUMES                 PLACE\notter    stable (default)  otter.v1.3.0  1        1.3.0     yes     #              MIRROR\notter    stable (default)  otter.v1.3.0  1        1.3.0     yes     # yes   gantry-000001.0001.tar  DISK\n"},
		{"bundles -c CONFIG --package pond", "PACKAGE  BUNDLE       VERSION  CHANNELS       OLM V1\npond     pond.v1.0.0  1.0.0    stable (head)  probably\n"},
		{"bundles -c CONFIG --package heron -o wide", "PACKAGE  BUNDLE        VERSION  CHANNELS       OLM V1           MODES          IMAGES\nheron    heron.v2.0.0  2.0.0    stable (head)  no (dependency)  AllNamespaces  2\n"},
		{"packages docker://" + zooRef + " --api otter.zoo* vole", ""},
		{"catalogs MIRROR", "CATALOG                                    IMAGE                       PACKAGES  BUNDLES  IMAGES  SIZE\n" + zooRef + "  HOST/zoo/zoo/operator-index:v4.20  2         2        4       #"},
		{"images DISK */vole*", "IMAGE                      KIND    PACKAGES  SIZE     HERE  VOLUMES\nzoo/vole-bundle:sha256-"},
		{"files DISK", "FILE SIZE ORIGIN HERE  VOLUMES\nlive.iso  10 B"},
	} {
		replace := strings.NewReplacer("FOLDER", w.path("zoo"), "MIRROR", mirror, "DISK", disk, "CONFIG", isc, "HOST", w.mirror.Host)
		o := w.must(append([]string{"list"}, strings.Fields(replace.Replace(test.args))...)...)
		columns := func(text string) string { return strings.Join(strings.Fields(size.ReplaceAllString(text, "# ")), " ") }
		if got, want := columns(o.stdout), columns(replace.Replace(test.want)); got != want && (want == "" || !strings.HasPrefix(got, want) || strings.HasSuffix(test.want, "\n")) {
			t.Errorf("gantry list %s:\n%swant\n%s", test.args, o.stdout, test.want)
		}
	}
	for _, object := range []string{"catalogs", "packages", "channels", "bundles", "images", "files", "charts", "releases"} {
		if o := (asking{t, w.env}).gantry("list", object, disk, "-o", "json"); !strings.HasPrefix(o.stdout, `{"version":1,"`+object+`":[`) { // the schema is checked, too
			t.Errorf("list %s prints %s", object, o.stdout)
		}
	}
	for args, words := range map[string]string{
		"packages " + w.path("absent"):                        "no such file",
		"packages quay.io/zoo":                                "",
		"packages docker://127.0.0.1:1/x --retry-times 0":     "cannot be reached",
		"images --catalog " + w.path("zoo") + " --sequence 1": "--sequence is for an archive",
		"packages " + mirror + " --sizes":                     "--sizes is for catalogs, and the plan",
		"packages -c " + w.path("zoo.yaml") + " --at file:":   "is not a mirror registry",
		"releases vole": `"vole" selects releases of a mirror or an archive; name it, docker://HOST`,
	} {
		if o := (asking{t, w.env}).gantry(append([]string{"list"}, strings.Fields(args)...)...); o.code == exitOK || !strings.Contains(o.stderr, words) || o.stdout != "" {
			t.Errorf("gantry list %s ended with %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
}
