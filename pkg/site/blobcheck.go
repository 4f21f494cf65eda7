package site

// A BlobCheck says how the blobs of a mirror were checked.
type BlobCheck string

const (
	// BlobsNotChecked means that only manifests were requested. A registry accepts a manifest only
	// if it has the blobs, but its storage may lose them later.
	BlobsNotChecked BlobCheck = "not checked"
	// BlobsPresent means that the registry has every blob with the right length.
	BlobsPresent BlobCheck = "present"
	// BlobsRead means that every manifest and blob was read and compared with its digest.
	BlobsRead BlobCheck = "read"
)

// BlobCheck returns how the blobs are checked.
func (t *RegistryDestination) BlobCheck() BlobCheck {
	switch {
	case t.ReadBlobs:
		return BlobsRead
	case t.CheckBlobs:
		return BlobsPresent
	}
	return BlobsNotChecked
}
