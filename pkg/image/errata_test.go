package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestReadBuildLabels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		labels map[string]string
		want   BuildLabels
	}{
		"none":          {map[string]string{"name": "openshift/etcd", "version": "v4", "release": "1"}, BuildLabels{}},
		"build":         {map[string]string{"com.redhat.component": "etcd-container", "version": "v4.20.0", "release": "2025"}, BuildLabels{Build: "etcd-container-v4.20.0-2025"}},
		"no release":    {map[string]string{"com.redhat.component": "etcd-container", "version": " "}, BuildLabels{Build: "etcd-container"}},
		"addresses":     {map[string]string{"url": "https://example.com/a", "org.opencontainers.image.url": "https://example.com/b"}, BuildLabels{URL: "https://example.com/b"}},
		"no address":    {map[string]string{"url": "javascript:alert(1)"}, BuildLabels{}},
		"erratum":       {map[string]string{"url": "https://access.redhat.com/errata/RHSA-2026:1234"}, BuildLabels{URL: "https://access.redhat.com/errata/RHSA-2026:1234", Errata: []string{"RHSA-2026:1234"}}},
		"errata":        {map[string]string{"a": "RHSA-2026:1234, RHBA-2025:98765 and RHSA-2026:0001", "b": "RHSA-2026:1234"}, BuildLabels{Errata: []string{"RHBA-2025:98765", "RHSA-2026:0001", "RHSA-2026:1234"}}},
		"other numbers": {map[string]string{"a": "RHSA-, RHSA-2026, RHSA-2026:, RHSA-26:1234, RHSA-2026:12, RHSA-2026:1234567, CVE-2026-1234"}, BuildLabels{}},
		"too long":      {map[string]string{"a": "RHSA-2026:1234" + strings.Repeat("x", maxLabel)}, BuildLabels{}},
	} {
		got := ReadBuildLabels(tc.labels)
		fail.Diff(t, tc.want, got)
		if got.IsZero() != cmp.Equal(tc.want, BuildLabels{}) {
			t.Errorf("%s: IsZero = %v", name, got.IsZero())
		}
	}
}
