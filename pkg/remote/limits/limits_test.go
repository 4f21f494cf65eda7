package limits

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"50MiB": 50 << 20, "800KB": 800_000, "800kB": 800_000, "2GB": 2_000_000_000, "1GiB": 1 << 30,
		"1KiB": 1024, "1024B": 1024, "1.5 MiB": 3 << 19, " 64KiB/s ": 64 << 10, ".5MB": 500_000,
	} {
		if got, err := ParseRate(text); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is not a rate", "fast": "is not a rate", "-5MiB": "is not a rate", "1e3MiB": "unknown unit",
		"50": "has no unit", "50M": "unknown unit", "50mib": "unknown unit", "1..5MiB": "is not a rate",
		"100Mbit": "is in bits", "100Mbit/s": "is in bits", "0MiB": "less than 1KiB", "1023B": "less than 1KiB",
		"99999999999999999999GiB": "too large", "NaNMiB": "is not a rate", "infMiB": "is not a rate",
		strings.Repeat("9", 400) + "B": "is not a rate",
	} {
		if got, err := ParseRate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %d, %v, want an error with %q", text, got, err, want)
		}
	}
}

// FuzzParseRate checks that an accepted rate is written so that the same rate is read back.
func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"50MiB", "800KB", "1.5 GB/s", "1025B", "3.1415926MiB", "50"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			return
		}
		if again, err := ParseRate(r.String()); again != r || err != nil || r < smallest {
			t.Fatalf("%q is %d, which is written %q and read as %d, %v", s, r, r.String(), again, err)
		}
	})
}

const sample = `# what the link stands
hosts:
- host: quay.io
  streams: 8
  requestsPerSecond: 0.5
  rate: 50MiB
- {host: "*.Example.com:5000", streams: 2}
- {host: "*.example.com", streams: 3}
- {host: "*.deep.example.com", streams: 4}
- {host: a.example.com, streams: 5}
- {host: "a.example.com:5000", streams: 6}
- {host: "[::1]:5000", streams: 7}
`

func TestFor(t *testing.T) {
	l, err := parse("limits.yaml", []byte(sample))
	fail.On(t, err)
	want := Host{Pattern: "quay.io", Streams: 8, RequestsPerSecond: 0.5, Rate: 50 << 20}
	fail.Diff(t, want, l.For("quay.io"))
	for host, streams := range map[string]int{
		"quay.io:443": 8, "QUAY.io": 8, "x.quay.io": 0, "docker.io": 0, "example.com": 0,
		"b.example.com": 3, "b.example.com:5000": 2, "b.example.com:5001": 3,
		"x.deep.example.com": 4, "x.deep.example.com:5000": 4,
		"a.example.com": 5, "a.example.com:5001": 5, "a.example.com:5000": 6,
		"[::1]:5000": 7, "[::1]": 0, "notexample.com": 0,
	} {
		fail.Diff(t, streams, l.For(host).Streams)
	}
	all, err := parse("", []byte(`hosts: [{host: "*", streams: 1}]`))
	if err != nil || all.For("docker.io").Streams != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	fail.Diff(t, (Host{}), (*Limits)(nil).For("quay.io"))
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "limits.yaml:1: the file is empty: list hosts, or remove it",
		"hosts: [":                               "limits.yaml:1: invalid YAML: did not find expected node content",
		"a: b: c":                                "limits.yaml:1: invalid YAML: mapping values are not allowed in this context",
		"[]":                                     "limits.yaml:1: expected a mapping",
		"{}":                                     `limits.yaml:1: hosts are missing: list at least one, "hosts: [{host: quay.io, streams: 8}]"`,
		"hosts:\n- host: a\n---\n{}":             "limits.yaml:3: a second document begins here: write one per file",
		"hosts: [{host: a, streams: 1}]\n---\n[": "limits.yaml:3: invalid YAML: did not find expected node content",
		"hosts: 5":                               "limits.yaml:1: hosts: expected a list",
		"hosts:\n- 5":                            "limits.yaml:2: hosts[0]: expected a mapping",
		"hosts:\n- {streams: 5}":                 "limits.yaml:2: hosts[0]: the host is missing",
		"hosts:\n- {host: a}":                    "limits.yaml:2: hosts[0]: a has no limit: add streams, requestsPerSecond or rate",
		"hosts:\n- {host: a, stream: 5}":         `limits.yaml:2: hosts[0]: unknown field "stream"; did you mean "streams"?`,
		"hosts:\n- {host: a, bandit: 5}":         `limits.yaml:2: hosts[0]: unknown field "bandit"; the fields are host, rate, requestsPerSecond, streams`,
		"hosts:\n- {host: a, host: b}":           "limits.yaml:2: hosts[0]: duplicate field host: it is already on line 2",
		"hosts:\n- {host: a, streams: 0}":        "limits.yaml:2: hosts[0]: streams: expected a whole number from 1 to 256",
		"hosts:\n- {host: a, streams: 1.5}\n- {host: 'a b', streams: 1}": "limits.yaml:2: hosts[0]: streams: expected a whole number from 1 to 256\n" +
			`limits.yaml:3: hosts[1]: host: "a b" is not a host: write quay.io, mirror.example.com:5000 or "*.example.com"`,
		"hosts:\n- {host: a, streams: '5'}":                       "limits.yaml:2: hosts[0]: streams: expected a whole number from 1 to 256",
		"hosts:\n- {host: a, streams: .nan}":                      "limits.yaml:2: hosts[0]: streams: expected a whole number from 1 to 256",
		"hosts:\n- {host: a, requestsPerSecond: .inf}":            "limits.yaml:2: hosts[0]: requestsPerSecond: expected a number from 0.01 to 10000",
		"hosts:\n- host: a\n  rate: 50":                           `limits.yaml:3: hosts[0]: rate: "50" has no unit: write 50MiB, 800KB or 2GB, bytes per second`,
		"hosts:\n- host: a\n  rate: []":                           "limits.yaml:3: hosts[0]: rate: expected a rate, such as 50MiB",
		"hosts:\n- host: quay.io/org\n  rate: 5MB":                `limits.yaml:2: hosts[0]: host: "quay.io/org" has a path: limits apply to a whole registry`,
		"hosts:\n- {host: a, streams: 1}\n- {host: A, rate: 5MB}": "limits.yaml:3: hosts[1]: a is already on line 2",
		"hosts: &x\n- {host: a, streams: 1}\nhosts: *x":           "limits.yaml:3: duplicate field hosts: it is already on line 1",
		"hosts: []": `limits.yaml:1: hosts are missing: list at least one, "hosts: [{host: quay.io, streams: 8}]"`,
		"hosts:\n- &a {host: a, streams: 1}\n- *a":                    "limits.yaml:3: hosts[1]: expected a mapping",
		"hosts:\n" + strings.Repeat("- {host: a, streams: 0}\n", 999): strings.TrimSuffix(problems(maxProblems), "\n"),
	} {
		_, err := parse("limits.yaml", []byte(text))
		if err == nil {
			t.Errorf("%.60q: no error", text)
			continue
		}
		fail.Diff(t, want, err.Error())
	}
}

func problems(n int) string {
	var b strings.Builder
	for i := range n {
		line := "limits.yaml:" + strconv.Itoa(i+2) + ": hosts[" + strconv.Itoa(i) + "]: streams: expected a whole number from 1 to 256\n"
		b.WriteString(line)
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	want := filepath.Join(dir, "limits.yaml")
	fail.On(t, os.WriteFile(want, []byte(sample), 0o600))
	if l, err := Load(want); err != nil || len(l.Hosts) != 7 {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := Load(filepath.Join(dir, "none")); err == nil || !strings.HasPrefix(err.Error(), "reading limits: ") {
		t.Error(err)
	}
	fail.On(t, os.WriteFile(want, make([]byte, maxFile+1), 0o600))
	if _, err := Load(want); err == nil || !strings.HasSuffix(err.Error(), "is larger than 1 MiB") {
		t.Error(err)
	}
}

// FuzzParse checks that every accepted entry limits something and applies to its own host.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("hosts: [{host: '*', rate: 1KiB}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parse("f", text)
		if err != nil {
			return
		}
		if len(l.Hosts) == 0 {
			t.Fatal("a file without entries")
		}
		for _, h := range l.Hosts {
			name := strings.Replace(h.Pattern, "*", "x", 1)
			got := l.For(name)
			if got.Streams <= 0 && got.RequestsPerSecond <= 0 && got.Rate <= 0 || got.rank() < h.rank() {
				t.Fatalf("%q: %+v is chosen before %+v", name, got, h)
			}
		}
	})
}
