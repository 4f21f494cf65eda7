package lease

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
)

// artifactType is the type of the manifests of leases.
const artifactType = "application/vnd.gantry.lease.v1"

// prefix begins the names of annotations.
const prefix = "vnd.gantry.lease."

// maxValue is the maximum length of an annotation, in bytes.
const maxValue = 256

// A Record is the holder of a lease, or a run that waits for it.
type Record struct {
	ID      string // random, new for each run
	Host    string
	User    string
	Process int
	// Machine identifies the machine until it starts again, and the container; see
	// lockfile.Machine. It may be empty.
	Machine string
	Since   time.Time
	// Renewed is the time of the registry when the record was written.
	Renewed time.Time
	// Released means that the run has ended.
	Released bool
	// Replaced is the ID of a run that this one took the lease from, because it ended without
	// releasing it.
	Replaced string
	// Attempt counts from 1. It is higher after a wait for another run that began at the same time.
	Attempt int
	// Shard is the part of a plan that the run copies, such as "2/4", and Group the digest of that plan.
	// They are empty for a run that no other may share the registry with.
	Shard, Group string
	// Confirmed means that the run of a shard had its lease for certain when it wrote the record.
	Confirmed bool
}

// Owner returns the run in words: "process 12 of ci on host-a since 2026-01-02T03:04:05Z".
func (r *Record) Owner() string {
	text := fmt.Sprintf("process %d", r.Process)
	if r.User != "" {
		text += " of " + r.User
	}
	if r.Shard != "" {
		text += " for shard " + r.Shard
	}
	return text + " on " + r.Host + " since " + r.Since.UTC().Format(time.RFC3339)
}

// Manifest returns the record as a manifest, which has the empty blob as its configuration and layer.
func (r *Record) Manifest() ([]byte, error) {
	annotations := map[string]string{
		prefix + "id": r.ID, prefix + "host": r.Host, prefix + "user": r.User, prefix + "process": strconv.Itoa(r.Process), prefix + "machine": r.Machine,
		prefix + "since": stamp(r.Since), prefix + "renewed": stamp(r.Renewed), prefix + "released": strconv.FormatBool(r.Released),
		prefix + "replaced": r.Replaced, prefix + "attempt": strconv.Itoa(r.Attempt),
		prefix + "shard": r.Shard, prefix + "group": r.Group,
	}
	if r.Confirmed {
		annotations[prefix+"confirmed"] = "true"
	}
	for name, value := range annotations {
		if value == "" {
			delete(annotations, name)
		}
	}
	return json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType,
		Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{ocispec.DescriptorEmptyJSON}, Annotations: annotations,
	})
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// parse reads a manifest that Manifest made.
func parse(raw []byte) (*Record, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("reading a lease: %w", err)
	}
	if m.ArtifactType != artifactType {
		return nil, fmt.Errorf("reading a lease: its type is %.60q, not %s", m.ArtifactType, artifactType)
	}
	for _, value := range m.Annotations {
		if len(value) > maxValue || escape.Contains(value) {
			return nil, fmt.Errorf("reading a lease: an annotation has %d bytes, and at most %d are allowed, without control characters", len(value), maxValue)
		}
	}
	value := func(name string) string { return m.Annotations[prefix+name] }
	r := &Record{ID: value("id"), Host: value("host"), User: value("user"), Machine: value("machine"), Released: value("released") == "true", Replaced: value("replaced"), Shard: value("shard"), Group: value("group"), Confirmed: value("confirmed") == "true"}
	if r.ID == "" {
		return nil, fmt.Errorf("reading a lease: it has no %sid", prefix)
	}
	// A number or a time that is missing is 0: it is only shown, or means an old lease.
	r.Process, _ = strconv.Atoi(value("process"))
	r.Attempt, _ = strconv.Atoi(value("attempt"))
	r.Since, _ = time.Parse(time.RFC3339Nano, value("since"))
	r.Renewed, _ = time.Parse(time.RFC3339Nano, value("renewed"))
	return r, nil
}
