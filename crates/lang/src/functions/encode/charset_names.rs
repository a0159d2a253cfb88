//! Names of character sets that OpenTofu accepts, with their IANA aliases, and tables of old code
//! pages that `encoding_rs` lacks.

use super::charsets::Charset::{self, *};

/// Names in lower case, each row one set.
pub(super) static NAMES: &[(Charset, &[&str])] = &[
    (
        Ascii,
        &[
            "ansi_x3.4-1968",
            "ansi_x3.4-1986",
            "cp367",
            "csascii",
            "ibm367",
            "iso-ir-6",
            "iso646-us",
            "iso_646.irv:1991",
            "us",
            "us-ascii",
        ],
    ),
    (Utf8, &["csutf8", "utf-8"]),
    (
        Utf16 {
            big: true,
            bom: true,
        },
        &["csutf16", "utf-16"],
    ),
    (
        Utf16 {
            big: true,
            bom: false,
        },
        &["csutf16be", "utf-16be"],
    ),
    (
        Utf16 {
            big: false,
            bom: false,
        },
        &["csutf16le", "utf-16le"],
    ),
    (
        Table(IBM037),
        &[
            "cp037",
            "csibm037",
            "ebcdic-cp-ca",
            "ebcdic-cp-nl",
            "ebcdic-cp-us",
            "ebcdic-cp-wt",
            "ibm037",
        ],
    ),
    (
        Table(IBM437),
        &["437", "cp437", "cspc8codepage437", "ibm437"],
    ),
    (
        Table(IBM850),
        &["850", "cp850", "cspc850multilingual", "ibm850"],
    ),
    (Table(IBM852), &["852", "cp852", "cspcp852", "ibm852"]),
    (Table(IBM855), &["855", "cp855", "csibm855", "ibm855"]),
    (
        Table(IBM00858),
        &[
            "ccsid00858",
            "cp00858",
            "csibm00858",
            "ibm00858",
            "pc-multilingual-850+euro",
        ],
    ),
    (Table(IBM860), &["860", "cp860", "csibm860", "ibm860"]),
    (
        Table(IBM862),
        &["862", "cp862", "cspc862latinhebrew", "ibm862"],
    ),
    (Table(IBM863), &["863", "cp863", "csibm863", "ibm863"]),
    (Table(IBM865), &["865", "cp865", "csibm865", "ibm865"]),
    (
        Other(encoding_rs::IBM866),
        &["866", "cp866", "csibm866", "ibm866"],
    ),
    (Table(IBM1047), &["csibm1047", "ibm-1047", "ibm1047"]),
    (
        Table(IBM01140),
        &[
            "ccsid01140",
            "cp01140",
            "csibm01140",
            "ebcdic-us-37+euro",
            "ibm01140",
        ],
    ),
    (
        Latin1,
        &[
            "cp819",
            "csisolatin1",
            "ibm819",
            "iso-8859-1",
            "iso-ir-100",
            "iso_8859-1",
            "iso_8859-1:1987",
            "l1",
            "latin1",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_2),
        &[
            "csisolatin2",
            "iso-8859-2",
            "iso-ir-101",
            "iso_8859-2",
            "iso_8859-2:1987",
            "l2",
            "latin2",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_3),
        &[
            "csisolatin3",
            "iso-8859-3",
            "iso-ir-109",
            "iso_8859-3",
            "iso_8859-3:1988",
            "l3",
            "latin3",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_4),
        &[
            "csisolatin4",
            "iso-8859-4",
            "iso-ir-110",
            "iso_8859-4",
            "iso_8859-4:1988",
            "l4",
            "latin4",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_5),
        &[
            "csisolatincyrillic",
            "cyrillic",
            "iso-8859-5",
            "iso-ir-144",
            "iso_8859-5",
            "iso_8859-5:1988",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_6),
        &[
            "arabic",
            "asmo-708",
            "csisolatinarabic",
            "ecma-114",
            "iso-8859-6",
            "iso-ir-127",
            "iso_8859-6",
            "iso_8859-6:1987",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_6),
        &["csiso88596e", "iso-8859-6-e", "iso_8859-6-e"],
    ),
    (
        Other(encoding_rs::ISO_8859_6),
        &["csiso88596i", "iso-8859-6-i", "iso_8859-6-i"],
    ),
    (
        Other(encoding_rs::ISO_8859_7),
        &[
            "csisolatingreek",
            "ecma-118",
            "elot_928",
            "greek",
            "greek8",
            "iso-8859-7",
            "iso-ir-126",
            "iso_8859-7",
            "iso_8859-7:1987",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_8),
        &[
            "csisolatinhebrew",
            "hebrew",
            "iso-8859-8",
            "iso-ir-138",
            "iso_8859-8",
            "iso_8859-8:1988",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_8),
        &["csiso88598e", "iso-8859-8-e", "iso_8859-8-e"],
    ),
    (
        Other(encoding_rs::ISO_8859_8_I),
        &["csiso88598i", "iso-8859-8-i", "iso_8859-8-i"],
    ),
    (
        Latin5,
        &[
            "csisolatin5",
            "iso-8859-9",
            "iso-ir-148",
            "iso_8859-9",
            "iso_8859-9:1989",
            "l5",
            "latin5",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_10),
        &[
            "csisolatin6",
            "iso-8859-10",
            "iso-ir-157",
            "iso_8859-10:1992",
            "l6",
            "latin6",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_13),
        &["csiso885913", "iso-8859-13"],
    ),
    (
        Other(encoding_rs::ISO_8859_14),
        &[
            "csiso885914",
            "iso-8859-14",
            "iso-celtic",
            "iso-ir-199",
            "iso_8859-14",
            "iso_8859-14:1998",
            "l8",
            "latin8",
        ],
    ),
    (
        Other(encoding_rs::ISO_8859_15),
        &["csiso885915", "iso-8859-15", "iso_8859-15", "latin-9"],
    ),
    (
        Other(encoding_rs::ISO_8859_16),
        &[
            "csiso885916",
            "iso-8859-16",
            "iso-ir-226",
            "iso_8859-16",
            "iso_8859-16:2001",
            "l10",
            "latin10",
        ],
    ),
    (Other(encoding_rs::KOI8_R), &["cskoi8r", "koi8-r"]),
    (Other(encoding_rs::KOI8_U), &["cskoi8u", "koi8-u"]),
    (
        Other(encoding_rs::MACINTOSH),
        &["csmacintosh", "mac", "macintosh"],
    ),
    (
        Other(encoding_rs::WINDOWS_874),
        &["cswindows874", "windows-874"],
    ),
    (
        Other(encoding_rs::WINDOWS_1250),
        &["cswindows1250", "windows-1250"],
    ),
    (
        Other(encoding_rs::WINDOWS_1251),
        &["cswindows1251", "windows-1251"],
    ),
    (
        Other(encoding_rs::WINDOWS_1252),
        &["cswindows1252", "windows-1252"],
    ),
    (
        Other(encoding_rs::WINDOWS_1253),
        &["cswindows1253", "windows-1253"],
    ),
    (
        Other(encoding_rs::WINDOWS_1254),
        &["cswindows1254", "windows-1254"],
    ),
    (
        Other(encoding_rs::WINDOWS_1255),
        &["cswindows1255", "windows-1255"],
    ),
    (
        Other(encoding_rs::WINDOWS_1256),
        &["cswindows1256", "windows-1256"],
    ),
    (
        Other(encoding_rs::WINDOWS_1257),
        &["cswindows1257", "windows-1257"],
    ),
    (
        Other(encoding_rs::WINDOWS_1258),
        &["cswindows1258", "windows-1258"],
    ),
    (
        Other(encoding_rs::EUC_JP),
        &[
            "cseucpkdfmtjapanese",
            "euc-jp",
            "extended_unix_code_packed_format_for_japanese",
        ],
    ),
    (
        Other(encoding_rs::ISO_2022_JP),
        &["csiso2022jp", "iso-2022-jp"],
    ),
    (
        Other(encoding_rs::SHIFT_JIS),
        &["csshiftjis", "ms_kanji", "shift_jis"],
    ),
    (Other(encoding_rs::EUC_KR), &["cseuckr", "euc-kr"]),
    (Other(encoding_rs::GB18030), &["csgb18030", "gb18030"]),
    (
        Other(encoding_rs::GBK),
        &["cp936", "csgbk", "gbk", "ms936", "windows-936"],
    ),
    (Other(encoding_rs::BIG5), &["big5", "csbig5"]),
];

const IBM437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const IBM850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";
const IBM852: &str = "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}";
const IBM855: &str = "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}";
const IBM00858: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";
const IBM860: &str = "ÇüéâãàÁçêÊèÍÔìÃÂÉÀÈôõòÚùÌÕÜ¢£Ù₧ÓáíóúñÑªº¿Ò¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const IBM862: &str = "אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const IBM863: &str = "ÇüéâÂà¶çêëèïî‗À§ÉÈÊôËÏûù¤ÔÜ¢£ÙÛƒ¦´óú¨¸³¯Î⌐¬½¼¾«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const IBM865: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø₧ƒáíóúñÑªº¿⌐¬½¼¡«¤░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

// Full tables of sets whose lower half is not ASCII.
const IBM037: &str = "\u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a} \u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×{ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";
const IBM01140: &str = "\u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a} \u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ€µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×{ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";
const IBM1047: &str = "\u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a} \u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);^-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿Ð[Þ®¬£¥·©§¶¼½¾Ý¨¯]´×{ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";
