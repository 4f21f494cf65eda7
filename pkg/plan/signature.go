package plan

import "fmt"

const (
	// maxSignature is the maximum size of a signature in bytes.
	maxSignature = 1 << 20
	// maxSignatures and maxSignatureBytes limit the OpenPGP signatures of an image. Each is usually
	// smaller than 1 KiB, and an index has one or a few for each of its images.
	maxSignatures     = 1024
	maxSignatureBytes = 1 << 20
)

func checkSignature(s *Signature) error {
	if len(s.Body) == 0 || len(s.Body) > maxSignature {
		return fmt.Errorf("a signature has %d bytes", len(s.Body))
	}
	return checkDigest("the digest of a signature", s.Digest)
}

// CheckSignatures returns an error unless an image of a plan can have these OpenPGP signatures: at most
// 1,024 with 1 MiB together. They are not verified.
func CheckSignatures(all []Signature) error {
	if len(all) > maxSignatures {
		return fmt.Errorf("%d signatures are more than %d", len(all), maxSignatures)
	}
	size := 0
	for i := range all {
		if err := checkSignature(&all[i]); err != nil {
			return err
		}
		size += len(all[i].Body)
	}
	if size > maxSignatureBytes {
		return fmt.Errorf("its signatures have %d bytes, more than %d", size, maxSignatureBytes)
	}
	return nil
}
