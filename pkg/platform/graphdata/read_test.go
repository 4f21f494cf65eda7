package graphdata

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// small is graph data with the few files that a test needs; the file "" is omitted.
func small(files map[string]string) map[string]string {
	all := map[string]string{"version": "1.1.0\n", "channels/stable-4.2.yaml": "name: stable-4.2\nversions: [4.2.0]\n"}
	maps.Copy(all, files)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// packed is a tar.gz of files, sorted.
func packed(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var headers []tar.Header
	for _, name := range slices.Sorted(maps.Keys(files)) {
		headers = append(headers, tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644})
	}
	return archive(t, headers, files)
}

// compressors are used again, since each has half a megabyte.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// archive is a tar.gz of headers with the content of files.
func archive(t testing.TB, headers []tar.Header, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		h.Size = int64(len(files[h.Name]))
		fail.On(t, w.WriteHeader(&h))
		_, err := w.Write([]byte(files[h.Name]))
		fail.On(t, err)
	}
	for _, c := range []interface{ Close() error }{w, z} {
		fail.On(t, c.Close())
	}
	return b.Bytes()
}

func mustRead(t testing.TB, files map[string]string) *Data {
	t.Helper()
	d, err := Read(bytes.NewReader(packed(t, files)))
	fail.On(t, err)
	return d
}

func TestRead(t *testing.T) {
	files := small(map[string]string{
		"channels/stable-4.10.yaml":      "name: stable-4.10\nversions:\n- 4.2.0\n- 4.3.0+s390x\n",
		"channels/eus-4.10.yaml":         "feeder: {name: stable}\nname: eus-4.10\ntombstones: [4.1.0]\nversions:\n- 4.2.0\n- 4.2.0\n",
		"blocked-edges/4.2.0-Plain.yaml": "to: 4.2.0\nfrom: 4[.]1[.].*\nfixedIn: 4.2.1\nautoExtend: https://example.com/\n",
	})
	want := slices.Sorted(maps.Keys(files))
	files["README.md"] = "# ignored"
	files["hack/test.yaml"] = "{"
	files["internal-channels/stable.yaml"] = "{"
	files["channels/deeper/a.yaml"] = "{"
	files["channels/README.md"] = "{"
	for _, folder := range []string{"", "./", "cincinnati-graph-data-731d0424/"} {
		moved := map[string]string{}
		for name, text := range files {
			moved[folder+name] = text
		}
		data := packed(t, moved)
		d, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Errorf("below %q: %v", folder, err)
			continue
		}
		if d.Version != "1.1.0" || d.Digest != digest.FromBytes(data) {
			t.Errorf("below %q: version %s of %s", folder, d.Version, d.Digest)
		}
		fail.Diff(t, want, d.paths())
		fail.Diff(t, []string{"eus-4.10", "stable-4.10", "stable-4.2"}, d.names)
		v := semver.MustParse
		fail.Diff(t, []string{"eus-4.10", "stable-4.10", "stable-4.2"}, d.Channels(v("4.2.0"), "amd64"))
		if a, s := d.Channels(v("4.3.0"), "amd64"), d.Channels(v("4.3.0"), "s390x"); len(a) != 0 || len(s) != 1 {
			t.Errorf("below %q, 4.3.0 is in %v for amd64 and in %v for s390x", folder, a, s)
		}
	}
}

// risk is the text of a file of blocked-edges, without some of its lines.
func risk(to, from string, without ...string) string {
	text := ""
	for _, line := range []string{
		"to: " + to, "from: " + from, "url: https://example.com/R", "name: R", "message: It happens.", "matchingRules: [{type: Always}]",
	} {
		if key, _, _ := strings.Cut(line, ":"); !slices.Contains(without, key) {
			text += line + "\n"
		}
	}
	return text
}

func TestReadWrong(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"no version":         {map[string]string{"version": ""}, []string{"no file named version"}},
		"another major":      {map[string]string{"version": "2.0.0"}, []string{"version: graph data of version 2.0.0 is not supported, only 1.0.0 to 1.2.0"}},
		"an older major":     {map[string]string{"version": "0.9.0"}, []string{"0.9.0 is not supported, only 1.0.0 to 1.2.0"}},
		"too new":            {map[string]string{"version": "1.3.0"}, []string{"1.3.0 is not supported"}},
		"no number":          {map[string]string{"version": "<html>"}, []string{`version: "<html>" is not a semantic version`}},
		"no channel":         {map[string]string{"channels/stable-4.2.yaml": ""}, []string{"no channels"}},
		"channel's name":     {map[string]string{"channels/x.yaml": "name: Stable 4"}, []string{`channels/x.yaml: name: "Stable 4" is not a channel name`}},
		"no name":            {map[string]string{"channels/x.yaml": "versions: [4.2.0]"}, []string{`channels/x.yaml: name: ""`}},
		"channel twice":      {map[string]string{"channels/x.yaml": "name: stable-4.2"}, []string{"channels/x.yaml: name: channel stable-4.2 is already defined in channels/stable-4.2.yaml"}},
		"version in channel": {map[string]string{"channels/x.yaml": "name: x\nversions: [4.2]"}, []string{`channels/x.yaml: versions: "4.2" is not a semantic version`}},
		"channel's shape":    {map[string]string{"channels/x.yaml": "name: x\nversions: 4.2.0"}, []string{"channels/x.yaml: line 2: cannot unmarshal"}},
		"no YAML":            {map[string]string{"blocked-edges/a.yaml": "to: ["}, []string{"blocked-edges/a.yaml: yaml: line 1"}},
		"to":                 {map[string]string{"blocked-edges/a.yaml": risk("4.x", ".*")}, []string{`blocked-edges/a.yaml: to: "4.x" is not a semantic version`}},
		"no to":              {map[string]string{"blocked-edges/a.yaml": risk("4.2.0", ".*", "to")}, []string{`to: "" is not a semantic version`}},
		"no from":            {map[string]string{"blocked-edges/a.yaml": risk("4.2.0", ".*", "from")}, []string{"from: missing regular expression"}},
		"from":               {map[string]string{"blocked-edges/a.yaml": risk("4.2.0", "4[.")}, []string{"blocked-edges/a.yaml: from: error parsing regexp"}},
		"half a risk":        {map[string]string{"blocked-edges/a.yaml": risk("4.2.0", ".*", "url", "matchingRules")}, []string{"missing: url, matchingRules"}},
		"metadata":           {map[string]string{"raw/metadata.json": "{"}, []string{"raw/metadata.json: unexpected end"}},
		"metadata's version": {map[string]string{"raw/metadata.json": `{"four":{}}`}, []string{`raw/metadata.json: "four" is not a semantic version`}},
		"metadata twice":     {map[string]string{"raw/metadata.json": `{"4.1.0":{},"4.1.0+s390x":{}}`}, []string{"duplicate version 4.1.0"}},
		"several": {map[string]string{"blocked-edges/a.yaml": "[]", "channels/x.yaml": "name: X", "raw/metadata.json": "[]"},
			[]string{"blocked-edges/a.yaml: line 1", "channels/x.yaml: name", "raw/metadata.json: json"}},
		"two folders": {map[string]string{"version": "", "a/version": "1.1.0", "b/version": "1.1.0"}, []string{"both a and b have"}},
		"upwards":     {map[string]string{"channels/../../version": "1.1.0"}, []string{"is outside"}},
		"absolute":    {map[string]string{"/etc/version": "1.1.0"}, []string{"is outside"}},
		"twice":       {map[string]string{"./version": "1.1.0"}, []string{"duplicate file version in the archive"}},
		"large":       {map[string]string{"channels/x.yaml": strings.Repeat("#", maxFile+1)}, []string{"channels/x.yaml exceeds the limit of 4194304 bytes"}},
	} {
		_, err := Read(bytes.NewReader(packed(t, small(test.files))))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error without %q:\n%v", name, want, err)
			}
		}
	}
}

func TestReadManyErrors(t *testing.T) {
	files := map[string]string{}
	for n := range 30 {
		files[fmt.Sprintf("blocked-edges/%02d.yaml", n)] = "to: x"
	}
	_, err := Read(bytes.NewReader(packed(t, small(files))))
	if err == nil || !strings.HasSuffix(err.Error(), "and 10 more files") || strings.Count(err.Error(), "\n") != 20 {
		t.Errorf("the error is %v", err)
	}
}

func TestReadArchive(t *testing.T) {
	whole := packed(t, small(nil))
	link := archive(t, []tar.Header{{Name: "version", Typeflag: tar.TypeReg}, {Name: "channels/x.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}, map[string]string{"version": "1.1.0"})
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":           {nil, "not a tar.gz"},
		"a login page":    {[]byte("<!DOCTYPE html>"), "not a tar.gz"},
		"truncated":       {whole[:len(whole)-20], "unexpected EOF"},
		"damaged":         {append(bytes.Clone(whole[:len(whole)-8]), 1, 2, 3, 4, 5, 6, 7, 8), "checksum"},
		"trailing text":   {append(bytes.Clone(whole), "<html>"...), "unpacking"},
		"a link":          {link, "channels/x.yaml is not a regular file"},
		"too much inside": {append(members(t, begun(t, 10<<24)), bytes.Repeat(members(t, make([]byte, 1<<24)), 10)...), "the file unpacks to more than the limit of 128 MiB"},
		"too much":        {members(t, begun(t, maxSize), noise(maxSize)), "the file has more than the limit of 16 MiB"},
	} {
		if testing.Short() && name == "too much inside" {
			continue // 128 MiB
		}
		if _, err := Read(bytes.NewReader(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, test.want)
		}
	}
}

// begun is the header of a file with that size, in a tar archive.
func begun(t testing.TB, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, tar.NewWriter(&b).WriteHeader(&tar.Header{Name: "ignored", Typeflag: tar.TypeReg, Size: size}))
	return b.Bytes()
}

// members is a gzip file with several members.
func members(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, part := range parts {
		z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		must(t, err)
		_, err = z.Write(part)
		must(t, errors.Join(err, z.Close()))
	}
	return b.Bytes()
}

// noise is incompressible.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never returns an error
	return b
}

func TestAddress(t *testing.T) {
	for graph, want := range map[string]string{
		"https://api.openshift.com/api/upgrades_info/v1/graph":               DefaultAddress,
		"https://api.openshift.com/api/upgrades_info/v1/graph?channel=c#top": DefaultAddress,
		"http://localhost:8080/api/upgrades_info/v1/graph/":                  "http://localhost:8080/api/upgrades_info/graph-data",
		"https://example.com/v1/graph":                                       "https://example.com/graph-data",
		"https://amd64.origin.releases.ci.openshift.org/graph":               "",
		"/v1/graph": "",
		"https://[": "",
		"":          "",
	} {
		fail.Diff(t, want, Address(graph))
	}
}

// FuzzRead checks that what is read can be packed and read again as the same data.
func FuzzRead(f *testing.F) {
	f.Add("1.1.0", "name: stable-4.2\nversions: [4.2.0]", risk("4.2.0", "4[.]1[.].*"), `{"4.1.0":{"k":"v"}}`)
	f.Add("1.0.0", "name: a\nversions: [4.2.0+amd64]", "to: 4.2.0\nfrom: .*", "{}")
	f.Fuzz(func(t *testing.T, version, channel, block, metadata string) {
		readAgain(t, packed(t, map[string]string{
			"version": version, "channels/a.yaml": channel, "blocked-edges/a.yaml": block, "raw/metadata.json": metadata,
		}))
	})
}

// FuzzReadTar checks the same for archives.
func FuzzReadTar(f *testing.F) {
	for _, folder := range []string{"", "main/"} {
		z, err := gzip.NewReader(bytes.NewReader(packed(f, map[string]string{folder + "version": "1.1.0", folder + "channels/a.yaml": "name: a"})))
		must(f, err)
		data, err := io.ReadAll(z)
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		z := compressors.Get().(*gzip.Writer)
		defer compressors.Put(z)
		z.Reset(&b)
		_, err := z.Write(data)
		must(t, errors.Join(err, z.Close()))
		readAgain(t, b.Bytes())
	})
}

// readAgain reads graph data, packs what was kept and reads that.
func readAgain(t *testing.T, data []byte) {
	t.Helper()
	d, err := Read(bytes.NewReader(data))
	if err != nil {
		return
	}
	for _, name := range d.paths() {
		if !wanted(name) {
			t.Errorf("the file %q was kept", name)
		}
	}
	again := mustRead(t, texts(d))
	d.Digest, again.Digest = "", ""
	fail.Diff(t, d, again, cmp.AllowUnexported(Data{}, membership{}), cmp.Comparer(sameBlock))
	for _, name := range d.names {
		_, err := d.Graph(nil, name, "amd64")
		fail.On(t, err)
	}
}

func sameBlock(a, b block) bool {
	return a.arch == b.arch && a.risk == b.risk && a.from.String() == b.from.String()
}
