package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What Verify found. ErrTooOld and ErrTooNew: the signature is right, but its time is not.
var (
	ErrWrongSignature   = errors.New("webhook: the signature is wrong")
	ErrMissingSignature = errors.New("webhook: the signature is missing")
	ErrTooOld           = errors.New("webhook: the signature is too old")
	ErrTooNew           = errors.New("webhook: the signature is too new")
)

const (
	// usualTolerance is what Standard Webhooks recommends.
	usualTolerance = 5 * time.Minute
	// mostSignatures of a request. The service sends at most two.
	mostSignatures = 20
)

// Verifier checks the signatures of webhooks (Standard Webhooks 1.0), over the bytes of the body. A [Handler] does that by itself.
type Verifier struct {
	// Secrets of the namespace, such as whsec_…. One of them must have signed. During a change give both.
	Secrets []string
	// Tolerance is the largest difference between the clocks; five minutes if zero.
	Tolerance time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Verify checks a request. It does not look into the body, which need not be text.
func (v Verifier) Verify(header http.Header, body []byte) error {
	id, timestamp, given := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp"), header.Get("Webhook-Signature")
	if id == "" || timestamp == "" || given == "" {
		return ErrMissingSignature
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil {
		return ErrWrongSignature
	}
	isSigned, err := v.isSignedByOne(given, id, timestamp, body)
	if err != nil {
		return err
	}
	if !isSigned {
		return ErrWrongSignature
	}
	// The age counts only with a right signature: without one, anyone could have written the time.
	tolerance, now := v.Tolerance, time.Now
	if tolerance == 0 {
		tolerance = usualTolerance
	}
	if v.Now != nil {
		now = v.Now
	}
	switch age := now().Sub(time.Unix(int64(seconds), 0)); {
	case age > tolerance:
		return ErrTooOld
	case age < -tolerance:
		return ErrTooNew
	default:
		return nil
	}
}

func (v Verifier) isSignedByOne(given, id, timestamp string, body []byte) (bool, error) {
	parts := strings.SplitN(given, " ", mostSignatures)
	isSigned := false
	for _, secret := range v.Secrets {
		key, err := keyOf(secret)
		if err != nil {
			return false, err
		}
		want := signatureOf(key, id, timestamp, body)
		for _, part := range parts {
			text, isV1 := strings.CutPrefix(part, "v1,")
			if signature, ok := decodeBase64(text); isV1 && ok && hmac.Equal(signature, want) {
				isSigned = true
			}
		}
	}
	return isSigned, nil
}

// Sign returns the value of the header webhook-signature for a body, as the service writes it. It is for tests.
func Sign(secret, id string, at time.Time, body []byte) (string, error) {
	key, err := keyOf(secret)
	if err != nil {
		return "", err
	}
	signature := signatureOf(key, id, strconv.FormatInt(at.Unix(), 10), body)
	return "v1," + base64.StdEncoding.EncodeToString(signature), nil
}

func signatureOf(key []byte, id, timestamp string, body []byte) []byte {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(id + "." + timestamp + "."))
	sum.Write(body)
	return sum.Sum(nil)
}

// keyOf returns the bytes of a secret. The error does not contain it.
func keyOf(secret string) ([]byte, error) {
	text, hasPrefix := strings.CutPrefix(secret, "whsec_")
	key, ok := decodeBase64(text)
	if !hasPrefix || !ok || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("webhook: a secret must be whsec_ followed by 24 to 64 bytes in base64")
	}
	return key, nil
}

func decodeBase64(text string) ([]byte, bool) {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return decoded, err == nil
}
