package apns

// Reason is the word in an error body. The list and the status of each are from
// Apple: "Handling notification responses from APNs".
type Reason string

// The reasons an emulator can answer by its own checks or by a script.
const (
	BadCollapseID               Reason = "BadCollapseId"
	BadDeviceToken              Reason = "BadDeviceToken"
	BadExpirationDate           Reason = "BadExpirationDate"
	BadMessageID                Reason = "BadMessageId"
	BadPriority                 Reason = "BadPriority"
	BadTopic                    Reason = "BadTopic"
	DeviceTokenNotForTopic      Reason = "DeviceTokenNotForTopic"
	DuplicateHeaders            Reason = "DuplicateHeaders"
	IdleTimeout                 Reason = "IdleTimeout"
	InvalidPushType             Reason = "InvalidPushType"
	MissingDeviceToken          Reason = "MissingDeviceToken"
	MissingTopic                Reason = "MissingTopic"
	PayloadEmpty                Reason = "PayloadEmpty"
	TopicDisallowed             Reason = "TopicDisallowed"
	BadCertificate              Reason = "BadCertificate"
	BadCertificateEnvironment   Reason = "BadCertificateEnvironment"
	ExpiredProviderToken        Reason = "ExpiredProviderToken"
	Forbidden                   Reason = "Forbidden"
	InvalidProviderToken        Reason = "InvalidProviderToken"
	MissingProviderToken        Reason = "MissingProviderToken"
	UnrelatedKeyIDInToken       Reason = "UnrelatedKeyIdInToken"
	BadEnvironmentKeyIDInToken  Reason = "BadEnvironmentKeyIdInToken"
	BadPath                     Reason = "BadPath"
	MethodNotAllowed            Reason = "MethodNotAllowed"
	ExpiredToken                Reason = "ExpiredToken"
	Unregistered                Reason = "Unregistered"
	PayloadTooLarge             Reason = "PayloadTooLarge"
	TooManyProviderTokenUpdates Reason = "TooManyProviderTokenUpdates"
	TooManyRequests             Reason = "TooManyRequests"
	InternalServerError         Reason = "InternalServerError"
	ServiceUnavailable          Reason = "ServiceUnavailable"
	Shutdown                    Reason = "Shutdown"

	// EmulatorStrict is not Apple's: the request is one that APNs might take and
	// then drop or misread. Record.Strict says what is wrong with it.
	EmulatorStrict Reason = "EmulatorStrict"
)

// Known reports whether the reason is one of those above.
func (r Reason) Known() bool {
	switch r {
	case BadCollapseID, BadDeviceToken, BadExpirationDate, BadMessageID, BadPriority, BadTopic, DeviceTokenNotForTopic,
		DuplicateHeaders, IdleTimeout, InvalidPushType, MissingDeviceToken, MissingTopic, PayloadEmpty, TopicDisallowed, EmulatorStrict:
		return true
	default:
		return r.Status() != 400
	}
}

// Status returns the HTTP status that goes with a reason, 400 for one it does not
// know.
func (r Reason) Status() int {
	switch r {
	case BadCertificate, BadCertificateEnvironment, ExpiredProviderToken, Forbidden, InvalidProviderToken,
		MissingProviderToken, UnrelatedKeyIDInToken, BadEnvironmentKeyIDInToken:
		return 403
	case BadPath:
		return 404
	case MethodNotAllowed:
		return 405
	case ExpiredToken, Unregistered:
		return 410
	case PayloadTooLarge:
		return 413
	case TooManyProviderTokenUpdates, TooManyRequests:
		return 429
	case InternalServerError:
		return 500
	case ServiceUnavailable, Shutdown:
		return 503
	default:
		return 400
	}
}
