package release

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

func TestArch(t *testing.T) {
	for name, want := range map[string]Arch{
		"amd64": "amd64", "x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "s390x": "s390x", "ppc64le": "ppc64le", "multi": Multi,
	} {
		got, err := ParseArch(name)
		if err != nil || got != want {
			t.Errorf("ParseArch(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := ParseArch("amd46"); err == nil || !strings.Contains(advice.Text(err), "amd64") {
		t.Errorf("ParseArch(amd46): %v, want amd64 to be suggested", err)
	}
	if got := Name("4.20.5", "amd64"); got != "4.20.5-x86_64" {
		t.Errorf("Name = %q", got)
	}
	if got := Name("4.20.5", Multi); got != "4.20.5-multi" {
		t.Errorf("Name = %q", got)
	}
}

func TestIsChannel(t *testing.T) {
	for name, want := range map[string]bool{
		"stable-4.20": true, "candidate-5.0": true, "okd-scos.4": true, strings.Repeat("x", 253): true,
		"": false, "Stable-4.20": false, "stable-4.20\n": false, "a/b": false, "a&b": false, strings.Repeat("x", 254): false,
	} {
		if IsChannel(name) != want {
			t.Errorf("IsChannel(%.20q) is not %v", name, want)
		}
	}
}
