package shards

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestKubernetesJobSize checks that a plan too large for a ConfigMap is refused, unless it is on a volume.
func TestKubernetesJobSize(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Name: "large"}
	for i := range 40_000 {
		sum := sha256.Sum256([]byte(strconv.Itoa(i)))
		p.Notes = append(p.Notes, hex.EncodeToString(sum[:]))
	}
	o := KubernetesJobOptions{KubernetesJob: 2, KubernetesImage: "registry.example.com/gantry:v1", Destination: "docker://mirror.example.com"}
	_, err := KubernetesJob(p, o)
	if advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "MiB when compressed, and a ConfigMap holds 1 MiB") || !strings.Contains(advice.Hint(err), "Options.KubernetesPlanClaim") {
		t.Errorf("%v; %s", err, advice.Hint(err))
	}
	o.KubernetesPlanClaim = "plans"
	text, err := KubernetesJob(p, o)
	if err != nil || !bytes.Contains(text, []byte("claimName: plans")) || bytes.Contains(text, []byte("kind: ConfigMap")) {
		t.Errorf("%v:\n%s", err, text)
	}
}

// TestKubernetesJobLocal checks that a plan with sources of this host is refused.
func TestKubernetesJobLocal(t *testing.T) {
	t.Parallel()
	o := KubernetesJobOptions{KubernetesJob: 2, KubernetesImage: "registry.example.com/gantry:v1", Destination: "docker://mirror.example.com"}
	for source, local := range map[string]bool{
		"quay.io/acme/app:v1": false, "file+https://example.com/tool": false, "https://charts.example.com/a-1.tgz": false,
		"oci:///srv/layout": true, "dir:///srv/catalog": true, "chart:///srv/chart": true, "file+local:/srv/tool": true,
	} {
		_, err := KubernetesJob(&plan.Plan{Name: "x", Images: []plan.Image{{Source: source}}}, o)
		if refused := err != nil && strings.Contains(err.Error(), "which pods cannot read"); refused != local {
			t.Errorf("%s: %v", source, err)
		}
	}
	if _, err := KubernetesJob(&plan.Plan{Name: "x", Catalogs: []plan.Catalog{{Source: "dir:///srv/catalog"}}}, o); err == nil {
		t.Error("a catalog from a folder was accepted")
	}
}

// TestKubernetesJobOptions checks which options are refused.
func TestKubernetesJobOptions(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*KubernetesJobOptions){
		"KubernetesJob is 0":                            func(o *KubernetesJobOptions) { o.KubernetesJob = 0 },
		"KubernetesJob is 100000":                       func(o *KubernetesJobOptions) { o.KubernetesJob = 100_000 },
		"a destination that is a registry":              func(o *KubernetesJobOptions) { o.Destination = "file:///disk" },
		"mirror.example.com/A":                          func(o *KubernetesJobOptions) { o.Destination = "docker://mirror.example.com/A" },
		"requires KubernetesJobOptions.KubernetesImage": func(o *KubernetesJobOptions) { o.KubernetesImage = "" },
		"KubernetesJobOptions.KubernetesImage: ":        func(o *KubernetesJobOptions) { o.KubernetesImage = "gantry:v1:v2" },
		"is not the name of a PersistentVolumeClaim":    func(o *KubernetesJobOptions) { o.KubernetesPlanClaim = "Plans" },
	} {
		o := KubernetesJobOptions{KubernetesJob: 2, KubernetesImage: "registry.example.com/gantry:v1", Destination: "docker://mirror.example.com"}
		change(&o)
		if _, err := KubernetesJob(&plan.Plan{Name: "x"}, o); advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
