package path

import (
	"testing"

	"github.com/blang/semver/v4"
)

func TestSkips(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		want     bool
	}{
		{"4.20.1", "4.20.9", false},
		{"4.20.1", "4.21.0", false},
		{"4.20.1", "4.22.0", true},
		{"4.20.1", "4.22.0-ec.0", true},
		{"4.9.1", "4.10.0", false},
		{"4.22.0-rc.0", "5.0.0-ec.1", false},
		{"4.22.7", "5.0.3", false},
		{"4.22.7", "5.1.0", true},
		{"4.21.7", "5.0.0", true},
		{"4.23.0", "5.0.0", true},
		{"5.0.0", "5.1.0", false},
		{"5.22.0", "6.0.0", true},
		{"3.22.0", "4.0.0", true},
		{"4.22.0", "6.0.0", true},
	} {
		if got := skips(semver.MustParse(tc.from), semver.MustParse(tc.to)); got != tc.want {
			t.Errorf("%s -> %s: got %t", tc.from, tc.to, got)
		}
	}
}
