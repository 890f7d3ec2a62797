"""Words that carry no content, by language. They are left out of queries, never out of the index."""

LANGUAGES = (
    """
    a about after again all also am an and any are aren't as at be because been before being both but by can
    can't could couldn't d did didn't do does doesn't doing don don't during each few for from further had
    hadn't has hasn't have haven't having he her here hers him his how i i'd i'll i'm i've if in into is isn't
    it its just ll m may me might more most must my no nor not of off on once only or other our out over own
    re s same shall she should shouldn't so some such t than that the their them then there these they this
    those through to too under until up us ve very was wasn't we were weren't what when where which while who
    whom whose why will with won't would wouldn't you your yours
    """,  # English
    """
    ao aos as com como da das de dela dele deles do dos e ela elas ele eles em entre era essa esse esta estao
    este eu foi isso isto ja la lhe mais mas me mesmo meu meus minha minhas muito na nao nas nem no nos nossa
    nosso num numa o onde os ou para pela pelas pelo pelos por qual quais quando quanto que quem sao se sem
    ser seu seus sua suas tambem te tem tinha tu um uma uns voce
    """,  # Portuguese
    """
    al cual cuales cuando cuanto del desde donde el ella ellas ellos en era eres es esa ese eso esta estan
    este esto fue ha han hay la las le les lo los mi mis muy nos o otra otro para pero por porque que quien
    quienes ser si sin sobre son soy su sus tambien tiene tu un una unas unos y ya yo
    """,  # Spanish
    """
    au aux avec ce ces cet cette comment d dans de des du elle elles en est et etait etre eu il ils j je l la
    le les leur leurs lui ma mais me mes moi mon n ne nos notre nous on ont ou par pas pour qu quand que quel
    quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tu un une vos votre vous y
    a-t-elle a-t-il
    """,  # French
    """
    aber alle als am an auch auf aus bei bin bis bist da das dass dein deine dem den der des dich die dies
    diese dieser dir doch du ein eine einem einen einer eines er es fur hat hatte haben habe ich ihm ihn ihr
    ihre im in ist ja kann mein meine mich mir mit nach nicht noch nur ob oder sein seine sich sie sind so
    uber um und uns unter vom von vor wann war waren warum was welche welcher welches wem wen wenn wer werden
    wie wird wo wurde zu zum zur
    """,  # German
)

UNSPACED = (
    *("什么时候", "什麼時候", "为什么", "為什麼", "什么", "什麼", "怎么", "怎麼", "多少"),
    *("哪里", "哪裡", "哪个", "哪個"),
    *("ですか", "ますか", "ましたか", "いつ", "どこ", "だれ"),
)
"""Question words of languages without blanks. Their single characters also stand in words that do tell."""
